"""Traces of deep-learning programs, from lives of tensors that are written as text (as in tests/unit/test_tensors.c):

    NAME=PHASE/OP/BYTES[@LINE]   a tensor is born; LINE is where the program called it from; PHASES has more than a phase
    -NAME                        it dies
    ~NAME=WHAT[:MODULE]          the program says what it is for; _ stands for a space
    {KEY=VALUE and }             what is born between is born under this label
    ?PHASE/OP/BYTES[@LINE]       one is asked for in vain
    !NAME                        the program sets a mark of this name
    +BYTES                       the recorder tells that a library has come, and that blocks of so many bytes are recorded each
    |                            the program says that a step has ended
    [OP  ]                       an operator begins; the innermost one ends
    %OP  %                       PyTorch tells that an operator begins; that the innermost one ends
    <NAME  >NAME                 the operator (or nobody) reads it, writes it; _ is memory that nobody knows
    (  )                         from here on all accesses are told; no longer
    @NAME  *NAME  /NAME          it is watched; it has changed; it is watched no longer
    ^NAME                        its sixth byte is written to, while it is watched
    #NUMBER                      what follows is of the process of this rank, which begins when it is first named

Births, deaths and marks are a millisecond apart. Their stacks are those that PyTorch has.
"""

import tracemaker as tm

MS = 1_000_000
TORCH = "/opt/venv/lib/python3.11/site-packages/torch/"
SCRIPT = "/srv/app/train.py"
GENERATED = "/tmp/torchinductor_me/fw/cfwt.py"  # by torch.compile; its line is the operator's name, as in compiled/6/4096
PYTHON, NATIVE = 4, 1
CHUNK = 50_000  # events

# The frames of a phase, outermost first: (function, file or module, is it a line of Python).
PHASES = {
    "other": [],
    "build": [("Linear.__init__", TORCH + "nn/modules/linear.py", True)],
    "held": [("Memory.__init__", SCRIPT, True)],  # an object of the program: nobody calls it
    "member": [("Net.__init__", SCRIPT, True)],  # a module of the program's own
    "forward": [("Module._call_impl", TORCH + "nn/modules/module.py", True), ("Net.forward", SCRIPT, True)],
    "wrapped": [("Module._call_impl", TORCH + "nn/modules/module.py", True),  # by decorators, which are no modules
                ("cached.<locals>.wrapper", "/opt/venv/lib/python3.11/site-packages/models/utils.py", True),
                ("Keeper.call", "/opt/venv/lib/python3.11/site-packages/models/utils.py", True), ("Net.forward", SCRIPT, True)],
    "hooked": [("Module._call_impl", TORCH + "nn/modules/module.py", True), ("keep.<locals>.hook", SCRIPT, True)],
    "backward": [("torch::autograd::Engine::evaluate_function(int)", "libtorch_cpu.so", False),
                 ("torch::autograd::generated::MmBackward0::apply(int)", "libtorch_cpu.so", False)],
    "recompute": [("torch::autograd::Engine::evaluate_function(int)", "libtorch_cpu.so", False),
                  ("Module._call_impl", TORCH + "nn/modules/module.py", True), ("Net.forward", SCRIPT, True)],
    "compiled": [("Module._call_impl", TORCH + "nn/modules/module.py", True), ("Net.forward", SCRIPT, True),
                 ("Runner.call", GENERATED, True)],
    "optimizer": [("Adam.step", TORCH + "optim/adam.py", True)],
}


class Maker:
    """Definitions and events as they come."""

    def __init__(self):
        self.definitions, self.events, self.now = [], [], 0
        self.numbers = {"string": {}, "module": {}, "frame": {}, "stack": {}}
        self.live, self.address, self.steps, self.context, self.contexts = {}, 0x7f0000000000, 0, 0, 0
        self.sizes, self.ops, self.regions = {}, [], 0
        self.process, self.ranks = 1, {}  # its thread has the same number

    def number(self, kind, key, define):
        known = self.numbers[kind]
        if key not in known:
            definition = define(len(known) + 1)
            known[key] = len(known) + 1
            self.definitions.append(definition)
        return known[key]

    def text(self, text):
        return self.number("string", text, lambda n: tm.record(tm.STRING, n, tail=text.encode()))

    def frame(self, function, file, python, line):
        if python:
            key = (function, file, line)
            owner, name = 0, (self.text(function), self.text(file), line)
        else:
            module = self.text(TORCH + "lib/" + file)
            owner = self.number("module", file, lambda n: tm.record(tm.MODULE, n, module, 0))
            key, name = (function, file), (self.text(function),)
        new = key not in self.numbers["frame"]
        n = self.number("frame", key, lambda n: tm.record(tm.FRAME, n, PYTHON if python else NATIVE, owner, 16 * n))
        if new:
            self.definitions.append(tm.record(tm.NAME, n, 0, *name))
        return n

    def stack(self, frames):
        at = 0
        for f in frames:
            parent, frame = at, self.frame(*f)
            at = self.number("stack", (parent, frame), lambda n: tm.record(tm.STACK, n, parent, frame))
        return at

    def event(self, kind, *fields):
        self.events.append(tm.record(kind, *fields, step=MS if self.events else 0))
        self.now += MS

    def asked(self, what):
        """The stack and the size of a tensor"""
        phase, op, size = what.split("/")
        size, _, line = size.partition("@")
        if phase == "xla":
            return self.stack([("tsl::PThread::ThreadFn(void*)", "../../jaxlib/libjax_common.so", False, 0),
                               ("tsl::port::AlignedMalloc(unsigned long)", "../../jaxlib/libjax_common.so", False, 0)]), int(size)
        if phase == "compiled":
            *outer, inner = PHASES[phase]
            return self.stack([*((*f, 20) for f in outer), (*inner, int(op)),
                               ("c10::alloc_cpu(unsigned long)", "libc10.so", False, 0)]), int(size)
        return self.stack([("<module>", SCRIPT, True, int(line or 10)),
                           *((*f, 20 if f[2] else 0) for f in PHASES[phase]),
                           (f"at::_ops::{op}::call(at::Tensor const&)", "libtorch_cpu.so", False, 0),
                           ("c10::alloc_cpu(unsigned long)", "libc10.so", False, 0)]), int(size)

    def bear(self, word):
        name, rest = word.split("=")
        stack, size = self.asked(rest)
        self.address += 1 << 32
        self.live.setdefault(name, []).append(self.address)
        self.sizes[name] = size
        self.event(tm.ALLOC, self.process, self.address, size, stack, 0, 0, self.context)

    def tell(self, word):
        name, said = word.split("=")
        what, _, module = said.replace("_", " ").partition(":")
        self.event(tm.DESCRIBED, 1, self.live[name][-1], self.text(what), self.text(module) if module else 0, 0)

    def label(self, word):
        """A context of its own for each: step 0, and the label."""
        key, value = map(self.text, word.split("="))
        self.contexts += 1
        self.context = self.contexts
        pairs = b"".join(map(tm.varint, (key, value)))
        self.definitions.append(tm.record(tm.CONTEXT, self.context, 1, 0, tail=pairs))

    def use(self, name, kind):
        by = self.text(self.ops[-1][1]) if self.ops else 0
        known = name != "_"
        self.event(tm.ACCESS, 1, self.live[name][-1] if known else 64, self.sizes[name] if known else 64, kind, by)

    def operate(self, word):
        if word == "]":
            self.event(tm.REGION_END, 1, self.ops.pop()[0])
        elif word.startswith("["):
            self.regions += 1
            self.ops.append((self.regions, word[1:]))
            self.event(tm.REGION, 1, self.regions, self.text(word[1:]), 0)
        elif word[0] in "@*/":
            kind = "@*/".index(word[0]) + 1
            size = self.sizes[word[1:]] if kind == 1 else 0
            self.event(tm.WATCH, 1, self.live[word[1:]][-1], kind, self.text(word[1:]), size, 0)
        elif word[0] == "^":
            self.event(tm.WATCH, 1, self.live[word[1:]][-1] + 5, 5, 0, 0, 0)
        elif word in "()":
            self.event(tm.ACCESS, 1, 0, 0, 4 if word == "(" else 8, 0)
        else:
            self.use(word[1:], 1 if word.startswith("<") else 2)

    def switch(self, rank):
        if rank not in self.ranks:
            self.process = self.ranks[rank] = len(self.ranks) + 2
            self.definitions.append(tm.record(tm.FACT, 2, self.process, self.text("rank"), tail=rank.encode()))
            self.event(tm.PROCESS, self.process, 0, 99 + self.process, 7, 2, self.text("python"))
            self.event(tm.THREAD, self.process, self.process, 99 + self.process, self.text("python"))
        self.process = self.ranks[rank]

    def take(self, word):
        if word.startswith("#"):
            self.switch(word[1:])
        elif word.startswith("-"):
            self.event(tm.FREE, self.process, self.live[word[1:]].pop(), 0, 9)
        elif word.startswith("~"):
            self.tell(word[1:])
        elif word.startswith("{"):
            self.label(word[1:])
        elif word == "}":
            self.context = 0
        elif word.startswith("?"):
            stack, size = self.asked(word[1:])
            self.event(tm.SPACE_FAILED, 1, size, stack, 0, self.text("posix_memalign"), 12)
        elif word.startswith("+"):
            self.event(tm.MARK, 1, 7, self.text("libtorch_cpu.so"), int(word[1:]))
        elif word.startswith("!"):
            self.event(tm.MARK, 1, 0, self.text(word[1:]), 0)
        elif word.startswith("%"):
            self.event(*((tm.OP, 1, self.text(word[1:])) if word[1:] else (tm.OP_END, 1)))
        elif word == "|":
            self.steps += 1
            self.event(tm.MARK, 1, 1, self.text("step"), self.steps, self.steps)
        elif word[0] in "[]<>()@*/^":
            self.operate(word)
        else:
            self.bear(word)


def make(path, text, end=0, status=0, ended=False, source=""):
    """The trace of such a life; `end` and `status` as in FORMAT.md; `ended`: in good order; `source`: of what was generated"""
    m = Maker()
    for i, line in enumerate(source.splitlines()):
        file = m.text(GENERATED)
        m.definitions.append(tm.record(tm.SOURCE, file, i + 1, tail=line.encode()))
    m.event(tm.PROCESS, 1, 0, 100, 7, 2, m.text("python"))
    m.event(tm.THREAD, 1, 1, 100, m.text("python"))
    for word in text.split():
        m.take(word)
    m.event(tm.PROCESS_END, 1, end, status)
    if ended:
        m.event(tm.END)
    trace = tm.Trace().add(m.definitions)
    for at in range(0, len(m.events), CHUNK):  # a chunk begins when the one before it ends
        some = m.events[at:at + CHUNK]
        trace.add(some, max(at - 1, 0) * MS, (at + len(some)) * MS)
    return trace.write(path)
