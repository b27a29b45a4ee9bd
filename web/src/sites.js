// sites - who asks for memory: frames of allocators, containers and the C library are nobody's site.
// The rules are those of the tool (src/model/plumbing.c), so that both name the same function.

import { short } from './format.js';

const BEGINNINGS = [
    'operator new',
    '__gnu_cxx::',
    'std::',
    'void std::',
    '<std::',
    'alloc::',
    '<alloc::',
    'core::',
    '<core::',
    'hashbrown::',
    '<hashbrown',
    'boost::container::',
    'absl::container_internal::',
];
const MODULES =
    /^(libc\.so|libc-2|ld-linux|libpthread|libstdc\+\+\.so|libc\+\+|libjemalloc\.|libtcmalloc|libmimalloc|libtidemark\.so)/;
const STARTS = /^(_start|__libc_start_main|__libc_start_call_main|start_thread|clone3?)$/;
const SUFFIX =
    /(\.[\w.]+|_usable|_internal|_impl|_aligned|_array|_noinline|_zeroed|_zero|_cpu|_n|Zero|0)$/;
const ALLOCATES = [
    /(malloc|calloc|realloc|memalign|strn?dup|memdup|v?asprintf|asprintf_chk|p?valloc)$/i,
    /(^|_)(re)?alloc(ate)?$/i,
    /(A|ReA|Rea)lloc(ate)?$/,
    /(^|_)[a-z]alloc$/,
];

/** The part of a function's name that its author chose: "allocate" of "ns::Pool<int>::allocate<8>(int)". */
function ownName(name) {
    let out = '';
    let deep = 0;
    for (const c of name) {
        if (c === '(' && !deep && out) break;
        if (c === '<' || c === '(') deep++;
        else if (c === '>' || c === ')') deep -= deep > 0 ? 1 : 0;
        else if (!deep) out = c === ':' || c === ' ' ? '' : out + c;
    }
    return out;
}

function withoutSuffix(name) {
    for (let now = name, before = ''; ; now = before.replace(SUFFIX, '')) {
        if (now === before || !now) return before;
        before = now;
    }
}

export const isAllocator = (name) => {
    const own = withoutSuffix(ownName(name));
    return ALLOCATES.some((pattern) => pattern.test(own));
};

const PYTHON = 0;
const INTERPRETER = 2;
const SMALLER = 4;
const LIBRARY = 6;

export class Sites {
    /** @param {import('./model.js').Model} model */
    constructor(model) {
        this.model = model;
        this.plumbing = new Map();
        this.found = new Map();
    }

    isPython(frame) {
        const kind = this.model.frames.kind[frame];
        return kind === PYTHON || kind === LIBRARY;
    }

    isPlumbing(frame) {
        if (!this.plumbing.has(frame)) this.plumbing.set(frame, this.judge(frame));
        return this.plumbing.get(frame);
    }

    judge(frame) {
        if (this.isPython(frame)) return false;
        const kind = this.model.frames.kind[frame];
        const name = this.model.functionOf(frame);
        const module = short(this.model.moduleOf(frame));
        if (kind === INTERPRETER || kind === SMALLER || /\+0x[0-9a-f]+$|^\(no name\)$/.test(name))
            return true;
        if (MODULES.test(module) || STARTS.test(name) || isAllocator(name)) return true;
        return BEGINNINGS.some((text) => name.startsWith(text));
    }

    /**
     * The site of a stack: the innermost line of the program's Python, else of any Python, else the
     * innermost native function that is no plumbing, else the innermost that at least allocates nothing.
     * @param {number} below of stacks that are folded: the frame that counts of what is not shown, or -1
     */
    of(node, below) {
        const key = (below + 1) * this.model.parent.length + node;
        if (!this.found.has(key)) this.found.set(key, this.find(node, below));
        return this.found.get(key);
    }

    *stack(node, below) {
        if (below >= 0) yield below;
        yield* this.model.stack(node);
    }

    find(node, below) {
        const { frames } = this.model;
        let [library, native, least] = [-1, -1, -1];
        for (const frame of this.stack(node, below)) {
            if (frames.kind[frame] === PYTHON) return frame;
            if (library < 0 && frames.kind[frame] === LIBRARY) library = frame;
            if (native < 0 && !this.isPlumbing(frame)) native = frame;
            if (least < 0 && !isAllocator(this.model.functionOf(frame))) least = frame;
        }
        return [library, native, least, this.model.frame[node]].find((frame) => frame >= 0) ?? -1;
    }

    /** The innermost function of any language that is no plumbing: what a site calls, if it calls anything. */
    innermost(node, below) {
        for (const frame of this.stack(node, below)) if (!this.isPlumbing(frame)) return frame;
        return this.of(node, below);
    }
}
