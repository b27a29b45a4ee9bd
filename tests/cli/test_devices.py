"""Memory of accelerators from outside: NVML and DCMI by doubles over a virtual device, DRM, kfd and dmem by trees of
files. None of this ran on a real device."""

import csv
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from running import NOBODY, need_root

MIB = 1 << 20
GIB = 1 << 30
RESERVED = 300 * MIB
ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = re.findall(r"^ +X\((\w+), (?:LIBRARY|FILES),", (ROOT / "src/devices/kinds.h").read_text(), re.M)


@pytest.fixture
def world(build, tmp_path, monkeypatch):
    """world(*words, libraries=..., count=...) -> the folder of a machine with virtual devices; without a call it has
    none. The words say how its libraries behave (tests/doubles)."""
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.setenv("TIDEMARK_DEVICE_ROOT", str(root))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def call(*words, libraries=("libnvidia-ml.so.1",), old=False, count=1):
        folder = tmp_path / "libraries"
        folder.mkdir()
        for name in libraries:
            (folder / name).symlink_to(build / "tests" / "doubles" / ("old" if old else ".") / name)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
        monkeypatch.setenv("VIRTUAL_DEVICE", str(tmp_path / "virtual"))
        monkeypatch.setenv("VIRTUAL_COUNT", str(count))
        monkeypatch.setenv("DOUBLE", " ".join(words))
        return root

    call.root = root
    return call


@pytest.fixture
def result(result):
    """As ever, with the command's words discarded and often enough for a device to be seen soon"""
    return lambda *args, **kw: result("--mute", "--interval", "20", *args, **kw)


@pytest.fixture
def hold(build):
    """hold(how, device, mib, ...) -> the words of a command that holds memory of virtual devices"""
    return lambda *args: [str(build / "tests" / "doubles" / "device_hold"), *map(str, args)]


def only(told, label=None):
    devices = [d for d in told["devices"] if label in (None, d["device"])]
    assert len(devices) == 1, told["devices"]
    return devices[0]


# ---- none ----

def test_without_a_device_nothing_is_started_and_nothing_said(world, run, result):
    told = result("-v", "true")
    assert told["devices"] == [] and told["devices_missing"] == []
    assert all(told["memory_usage"][f"gpu_{n}_gb"] is None for n in ("peak", "min", "avg"))
    assert "evice" not in run("run", "true").stdout
    assert run("run", "-v", "true").stdout.endswith("No accelerator was found\n")


def test_the_list_names_every_kind_and_why_it_is_not_there(world, run):
    done = run("devices", "-f", "json")
    tables = json.loads(done.stdout)["tables"]
    assert done.returncode == 0 and tables["devices"]["rows"] == []
    missing = tables["not_found"]["values"]
    assert list(missing) == KINDS
    assert all("no sign of one" in why for why in missing.values())
    assert "No accelerator was found." in run("devices").stdout


def test_a_library_without_a_device_says_so(world, run, result):
    world("no-driver")
    told = result("--device", "nvidia", "true")
    assert told["devices"] == []
    assert told["devices_missing"] == ["nvidia: NVML does not start: Driver Not Loaded (9)"]
    assert "Driver Not Loaded" in run("devices").stdout


# ---- NVML ----

@pytest.mark.parametrize("words", ["", "records=32", "records=16", "no-v3", "no-memory2", "old", "print"])
def test_each_abi_of_nvml_shows_what_the_command_and_others_hold(world, hold, result, words):
    old = words == "old"
    world(*([] if old else [words]), old=old)
    with subprocess.Popen(hold(60, 0, 700), stdout=subprocess.PIPE) as other:
        try:
            other.stdout.readline()
            told = result("--device", "nvidia", *hold("seen", 0, 500))
        finally:
            other.kill()
    gpu = only(told)
    within = RESERVED if old or words == "no-memory2" else 0  # version 1 does not tell them apart
    assert gpu["total_bytes"] == 8 * GIB
    assert gpu["used_bytes"]["peak"] == 1200 * MIB + within
    assert gpu["used_bytes"]["min"] == 700 * MIB + within  # from before the command began
    assert gpu["ours_bytes"]["peak"] == 500 * MIB
    assert gpu["rest_bytes"]["peak"] == 700 * MIB + within
    assert gpu["reserved_bytes"] == (None if within else {"min": RESERVED, "avg": RESERVED, "peak": RESERVED})
    assert ("used includes what the driver has reserved" == gpu["note"]) == bool(within)
    assert [p["used_bytes"]["peak"] for p in gpu["processes"]] == [500 * MIB]
    assert gpu["busy_percent"]["peak"] == 37 and gpu["processes"][0]["busy_percent"]["peak"] == 21
    assert told["memory_usage"]["gpu_peak_gb"] == round((1200 * MIB + within) / GIB, 2)
    assert told["process_count"] == 1, "what reads devices is no process of the command"
    assert told["devices_missing"] == []


def test_what_is_not_available_is_no_number(world, hold, result):
    world("unknown")
    gpu = only(result("--device", "nvidia", *hold("seen", 0, 500)))
    assert gpu["used_bytes"]["peak"] == 500 * MIB
    for name in ("ours_bytes", "rest_bytes"):
        assert gpu[name] is None or gpu[name]["peak"] == 0  # before it held any
    assert all(p["used_bytes"] is None for p in gpu["processes"])


def test_a_device_without_memory_of_its_own_says_so(world, hold, result, run):
    world("unified")
    gpu = only(result("--device", "nvidia", *hold("seen", 0, 500)))
    assert gpu["used_bytes"] is None and gpu["total_bytes"] is None and gpu["rest_bytes"] is None
    assert gpu["ours_bytes"]["peak"] == 500 * MIB
    assert "the host's" in gpu["note"]
    text = run("run", "--device", "all", *hold(0, 0, 0)).stdout
    assert "used by everybody: n/a" in text


def test_parts_of_a_divided_device_are_devices(world, hold, result):
    world("mig")
    told = result("--device", "nvidia:0", *hold("seen", 0, 500))
    assert [d["device"] for d in told["devices"]] == ["nvidia:0", "nvidia:0.0", "nvidia:0.1"]
    assert [d["ours_bytes"]["peak"] // MIB for d in told["devices"]] == [500, 0, 500]
    told = result("--device", "nvidia:0.1", *hold("seen", 0, 1))
    assert [d["device"] for d in told["devices"]] == ["nvidia:0.1"]


def test_devices_are_chosen_and_those_that_are_not_there_are_named(world, hold, result, run):
    world(count=3)
    told = result("--device", "nvidia:2,nvidia:7", "--gpu-id", "1", "true")
    assert [d["device"] for d in told["devices"]] == ["nvidia:1", "nvidia:2"]
    assert told["devices_missing"] == ["nvidia:7: there is no such device"]
    assert "Device not read: nvidia:7" in run("run", "--device", "nvidia:7", "true").stdout
    assert result("--device", "none", *hold(0, 0, 5))["devices"] == []
    assert result("--gpu-id", "9", "true")["devices_missing"] == ["nvidia:9: there is no such device"]
    assert result("--device", "ascend", "true")["devices_missing"] == ["ascend: no such device was found"]


@pytest.mark.parametrize("words", [["--device", "gpu:0"], ["--device", "nvidia:x"], ["--device", ""],
                                   ["--gpu-id", "one"], ["--device", "none", "--gpu-id", "0"],
                                   ["--device", "none,all"]])
def test_a_device_that_cannot_be_is_refused_before_anything_runs(world, run, words):
    done = run("run", *words, "sh", "-c", "echo ran")
    assert done.returncode == 2 and "ran" not in done.stdout and done.stderr.count("\n") == 1


def test_the_numbers_of_cuda_are_joined_by_uuid(world, result, monkeypatch):
    world(count=3)
    uuid = "GPU-00000000-0000-0000-0000-00000000000"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", f"{uuid}2,{uuid}0")
    assert [d["cuda_device"] for d in result("--device", "all", "true")["devices"]] == [1, None, 0]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    assert [d["cuda_device"] for d in result("--device", "all", "true")["devices"]] == [None, None, 0]


# ---- what goes wrong ----

@pytest.mark.parametrize("how, why", [("crash", "NVML ended the process that asked it"),
                                      ("crash-init", "NVML ended the process that asked it")])
def test_a_library_that_crashes_takes_nothing_with_it(world, hold, result, how, why):
    world(how)
    told = result("--device", "nvidia", *hold(2, 0, 500))
    assert told["devices_missing"] == [f"nvidia: {why}"]
    assert told["exit_code"] == 0 and told["process_count"] == 1
    if how == "crash":
        assert only(told)["used_bytes"]["peak"] == 500 * MIB  # as long as it answered


def test_a_library_that_hangs_holds_nothing_up(world, hold, result):
    world("hang")
    began = time.monotonic()
    told = result("-v", "--device", "nvidia", *hold(4, 0, 500))
    assert told["exit_code"] == 0 and 4 <= told["execution_time"] <= time.monotonic() - began
    assert told["sample_count"] >= 3  # it was sampled on
    assert len(told["devices_missing"]) == 1
    assert "NVML has not answered" in told["devices_missing"][0]


def test_a_library_that_never_begins_ends_with_the_command(world, run):
    world("hang-init")
    done = run("run", "-v", "sleep", "2.5")
    assert done.returncode == 0 and "nvidia: NVML has not answered for the last" in done.stdout


def test_nothing_outlives_the_tool(world, tidemark):
    world("hang-init")
    with subprocess.Popen([tidemark, "run", "sleep", "60"], stdout=subprocess.DEVNULL) as tool:
        helper, end = None, time.monotonic() + 60
        while not helper:
            assert time.monotonic() < end, "nothing was started"
            for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
                try:
                    text = entry.read_text()
                except OSError:
                    continue
                if "(tidemark-device) " in text and int(text.rpartition(")")[2].split()[1]) == tool.pid:
                    helper = int(entry.parent.name)
        child = next(int(p) for p in pathlib.Path(f"/proc/{tool.pid}/task/{tool.pid}/children").read_text().split()
                     if int(p) != helper)
        tool.kill()
        tool.wait()
        os.kill(child, signal.SIGKILL)
    while is_running(helper):
        assert time.monotonic() < end, "it outlives the tool"
        time.sleep(0.01)


def test_what_is_meant_for_the_command_does_not_end_what_reads_devices(world, hold, tidemark):
    world()
    words = f"trap '' INT; {' '.join(hold('seen', 0, 500))}"
    with subprocess.Popen([tidemark, "run", "-j", "-o", "/dev/stderr", "--device", "nvidia", "sh", "-c", words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as tool:
        assert tool.stdout.readline() == "held\n"
        os.killpg(tool.pid, signal.SIGINT)
        told = json.loads(tool.communicate(timeout=60)[1])
    assert told["devices_missing"] == [] and only(told)["ours_bytes"]["peak"] == 500 * MIB


def test_a_command_that_cannot_start_leaves_nothing_behind(world, run):
    world()
    assert run("run", "--device", "nvidia", "/no/such/command").returncode == 127
    waiting = [p for p in pathlib.Path("/proc").glob("[0-9]*/environ") if b"TIDEMARK_DEVICE_ROOT=" +
               os.fsencode(world.root) in read(p)]
    assert waiting == []


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_library_of_another_kind_is_named_and_done_without(world, run, result, tmp_path, monkeypatch):
    folder = tmp_path / "wrong"
    folder.mkdir()
    (folder / "libnvidia-ml.so.1").write_bytes(b"\x7fELF\x01" + bytes(200))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
    told = result("--device", "nvidia", "true")
    assert told["exit_code"] == 0 and "cannot load its library" in told["devices_missing"][0]
    assert run("devices").returncode == 0


@need_root
@pytest.mark.parametrize("kind, library, node", [("nvidia", "libnvidia-ml.so.1", "nvidiactl"),
                                                 ("ascend", "libdcmi.so", "davinci_manager")])
def test_a_node_that_we_may_not_open_is_named_and_done_without(world, build, kind, library, node):
    folder = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))  # where another user comes to
    try:
        folder.chmod(0o755)
        for path in (build / "tidemark", build / "tidemark-devices", build / "tests" / "doubles" / library):
            shutil.copy(path, folder)
        (folder / "root" / "dev").mkdir(parents=True)
        (folder / "root" / "dev" / node).touch(mode=0o600)
        env = os.environ | {"TIDEMARK_DEVICE_ROOT": str(folder / "root"), "LD_LIBRARY_PATH": str(folder),
                            "DOUBLE": "no-driver"}
        done = subprocess.run([*NOBODY, folder / "tidemark", "run", "--device", kind, "sh", "-c", "echo ran"], env=env,
                              cwd="/", capture_output=True, text=True, timeout=60, check=False)
    finally:
        shutil.rmtree(folder)
    assert done.returncode == 0 and "ran" in done.stdout, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "not read" in line]
    assert "does not start" in line and line.endswith(f"no permission to read /dev/{node}")


# ---- DCMI ----

@pytest.mark.parametrize("words", ["", "ddr"])
def test_dcmi_shows_cards_by_their_numbers(world, hold, result, words):
    world(words, libraries=["libdcmi.so"], count=3)
    told = result("--device", "ascend", *hold("seen", 0, 820, 2, 500))
    assert [d["device"] for d in told["devices"]] == ["ascend:0", "ascend:1", "ascend:2"]
    assert told["devices"][2]["way"] == "DCMI, card 5 device 0"
    assert [d["ours_bytes"]["peak"] // MIB for d in told["devices"]] == [820, 0, 500]
    used = 8 * GIB // 100 * 10 if words else 820 * MIB + RESERVED
    assert told["devices"][0]["used_bytes"]["peak"] == used
    assert told["devices"][0]["busy_percent"]["peak"] == 37


# ---- Level Zero Sysman ----

def test_sysman_shows_modules_of_the_device_and_processes(world, hold, result):
    world(libraries=["libze_loader.so.1"], count=2)
    told = result("--device", "sysman", *hold("seen", 0, 820, 1, 500))
    assert [(d["device"], d["name"], d["way"]) for d in told["devices"]] == [
        ("sysman:0", "Virtual XPU", "Level Zero Sysman"), ("sysman:1", "Virtual XPU", "Level Zero Sysman")]
    # two modules of 4 GiB; that of the host is none of its memory
    assert [d["total_bytes"] for d in told["devices"]] == [8 * GIB, 8 * GIB]
    assert [d["used_bytes"]["peak"] // MIB for d in told["devices"]] == [820, 500]
    assert [d["ours_bytes"]["peak"] // MIB for d in told["devices"]] == [820, 500]
    assert told["devices"][0]["busy_percent"]["peak"] == 37


def test_a_device_that_has_the_hosts_memory_says_so(world, hold, result):
    world("integrated", "no-processes", libraries=["libze_loader.so.1"])
    gpu = only(result("--device", "sysman", *hold("seen", 0, 100)))
    assert gpu["used_bytes"] is None and gpu["total_bytes"] is None and gpu["ours_bytes"] is None
    assert gpu["note"] == "it has no memory of its own: its memory is the host's"


def test_sysman_without_a_driver_says_so(world, result):
    world("no-driver", libraries=["libze_loader.so.1"])
    told = result("--device", "sysman", "true")
    assert told["devices_missing"] == ["sysman: Level Zero's Sysman does not start (0x78000001)"]


# ---- files of the kernel ----

CARD = {"mem_info_vram_total": f"{16 * GIB}\n", "mem_info_vram_used": f"{3 * GIB}\n", "gpu_busy_percent": "12\n",
        "uevent": "DRIVER=amdgpu\nPCI_ID=1002:73BF\nPCI_SLOT_NAME=0000:03:00.0\n", "product_name": "Radeon Test\n"}


def put(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def put_cards(root):
    (root / "dev" / "dri").mkdir(parents=True)
    for name, text in CARD.items():
        put(root, f"sys/class/drm/card1/device/{name}", text)
    put(root, "sys/class/drm/card1-HDMI-A-1/device/uevent", "DRIVER=amdgpu\n")
    put(root, "sys/class/drm/card0/device/uevent", "DRIVER=ast\nPCI_SLOT_NAME=0000:01:00.0\n")
    put(root, "sys/class/drm/card2/device/uevent", "DRIVER=xe\nPCI_ID=8086:E20B\nPCI_SLOT_NAME=0000:04:00.0\n")
    put(root, "sys/class/accel/accel0/device/uevent", "DRIVER=intel_vpu\nPCI_SLOT_NAME=0000:00:0b.0\n")


# A command that writes its own files into the tree, as the kernel would: CLIENT DRIVER BUS LINES...
CLIENT = r"""
client() {
    mkdir -p "$TIDEMARK_DEVICE_ROOT/proc/$1/fd" "$TIDEMARK_DEVICE_ROOT/proc/$1/fdinfo"
    ln -s /dev/dri/renderD128 "$TIDEMARK_DEVICE_ROOT/proc/$1/fd/$2"
    printf 'pos:\t0\nflags:\t02100002\ndrm-driver:\t%s\ndrm-pdev:\t%s\ndrm-client-id:\t%s\n%b' "$3" "$4" "$5" "$6" \
        > "$TIDEMARK_DEVICE_ROOT/proc/$1/fdinfo/$2"
}
"""
AMD = "amdgpu 0000:03:00.0"


def test_clients_of_drm_count_once_across_descriptors_and_processes(world, result):
    put_cards(world.root)
    script = CLIENT + rf"""
        sleep 3 & other=$!
        client $$ 3 {AMD} 7 'drm-memory-vram:\t512 MiB\ndrm-memory-gtt:\t64 MiB\ndrm-shared-vram:\t1 MiB\n'
        client $$ 4 {AMD} 7 'drm-memory-vram:\t512 MiB\n'
        client $other 9 {AMD} 7 'drm-memory-vram:\t512 MiB\n'
        client $other 10 {AMD} 8 'drm-resident-vram:\t100 MiB\ndrm-total-vram:\t900 MiB\n'
        client $other 11 xe 0000:04:00.0 7 'drm-total-vram0:\t2048 KiB\ndrm-total-cycles-rcs:\t99999999999\n'
        client $$ 12 intel_vpu 0000:00:0b.0 1 'drm-resident-memory:\t4096\n'
        wait"""
    told = result("--device", "drm", "sh", "-c", script)
    amd, xe, npu = told["devices"]
    assert amd["name"] == "Radeon Test" and amd["way"] == "amdgpu, sysfs and fdinfo"
    assert amd["used_bytes"]["peak"] == 3 * GIB and amd["total_bytes"] == 16 * GIB
    assert amd["ours_bytes"]["peak"] == 612 * MIB and amd["rest_bytes"]["min"] == 3 * GIB - 612 * MIB
    assert sorted(p["used_bytes"]["peak"] // MIB for p in amd["processes"]) == [100, 512]
    assert amd["busy_percent"]["peak"] == 12
    assert xe["ours_bytes"]["peak"] == 2 * MIB and xe["used_bytes"] is None and "does not say" in xe["note"]
    assert npu["ours_bytes"]["peak"] == 4096


def test_compute_processes_of_amd_are_those_of_kfd(world, result):
    put_cards(world.root)
    put(world.root, "sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n")
    put(world.root, "sys/class/kfd/kfd/topology/nodes/1/gpu_id", "4711\n")
    put(world.root, "sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 80\nlocation_id 768\ndomain 0\n")
    script = CLIENT + rf"""
        client $$ 3 {AMD} 7 'drm-memory-vram:\t10 MiB\n'
        mkdir -p "$TIDEMARK_DEVICE_ROOT/sys/class/kfd/kfd/proc/$$"
        echo {700 * MIB} > "$TIDEMARK_DEVICE_ROOT/sys/class/kfd/kfd/proc/$$/vram_4711"
        sleep 2"""
    amd = only(result("--device", "drm:0", "sh", "-c", script))
    assert amd["ours_bytes"]["peak"] == 700 * MIB  # and not 710


def test_a_control_group_counts_memory_of_devices(world, result):
    region = "drm/0000:03:00.0/vram0"
    put(world.root, "sys/fs/cgroup/dmem.capacity", f"{region} {16 * GIB}\n")
    put(world.root, "sys/fs/cgroup/job/dmem.current", f"{region} {2 * GIB}\n")
    put(world.root, "sys/fs/cgroup/other/dmem.current", f"{region} {3 * GIB}\n")
    script = 'mkdir -p "$TIDEMARK_DEVICE_ROOT/proc/$$"; echo 0::/job > "$TIDEMARK_DEVICE_ROOT/proc/$$/cgroup"; sleep 2'
    dmem = only(result("--device", "dmem", "sh", "-c", script))
    assert dmem["name"] == region and dmem["total_bytes"] == 16 * GIB
    assert dmem["used_bytes"]["peak"] == 5 * GIB and dmem["ours_bytes"]["peak"] == 2 * GIB


def test_pictures_are_no_accelerator(world, run):
    put(world.root, "sys/class/drm/card0/device/uevent", "DRIVER=ast\n")
    (world.root / "dev" / "dri").mkdir(parents=True)
    assert "only shows pictures" in run("run", "--device", "drm", "true").stdout
    assert "pictures" not in run("run", "true").stdout


# ---- what is recorded ----

def test_a_recording_has_devices_over_time_and_every_question_agrees(world, hold, run, tmp_path):
    world(count=2)
    trace = tmp_path / "x.tide"
    done = run("record", "-q", "-o", trace, "--device", "nvidia", *hold("seen", 0, 500, 1, 20))
    assert done.returncode == 0, done.stderr
    told = json.loads(run("report", trace, "devices", "-f", "json").stdout)["tables"]
    first, second = told["devices"]["rows"]
    assert (first["device"], first["ours_peak"], second["ours_peak"]) == ("nvidia:0", 500 * MIB, 20 * MIB)
    assert first["used_peak"] == 500 * MIB and first["reserved"] == RESERVED and first["rest_peak"] == 0
    assert first["vendor"] == "NVIDIA" and first["way"] == "NVML, driver double"
    uses = {(u["device"], u["used_peak"]) for u in told["uses"]["rows"]}
    assert uses == {("nvidia:0", 500 * MIB), ("nvidia:1", 20 * MIB)}
    points = told["device_1"]["rows"]
    assert max(p["ours"] or 0 for p in points) == 500 * MIB
    summary = json.loads(run("report", trace, "summary", "-f", "json").stdout)["tables"]["devices"]["rows"]
    assert [d["peak_used"] for d in summary] == [500 * MIB, 20 * MIB]
    text = run("report", trace, "devices").stdout
    assert "nvidia:0" in text and "500.0 MiB" in text and "ours" in text
    rows = list(csv.reader(run("report", trace, "devices", "-f", "csv").stdout.splitlines()))
    assert ["nvidia:0", "1", "Virtual GPU", str(8 * GIB)] in [row[:4] for row in rows]


def test_a_recording_says_which_device_it_lacks(world, run, tmp_path):
    world("no-driver")
    trace = tmp_path / "x.tide"
    assert run("run", "--record", trace, "--device", "nvidia", "true").returncode == 0
    assert "Not read: nvidia: NVML does not start" in run("report", trace, "devices").stdout


# ---- mem-scan ----

@pytest.fixture
def mem_scan(tidemark, tmp_path):
    link = tmp_path / "mem-scan"
    link.symlink_to(tidemark)
    return lambda *args: subprocess.run([link, *map(str, args)], capture_output=True, text=True, timeout=60,
                                        check=False, stdin=subprocess.DEVNULL)


def test_mem_scan_reports_the_whole_device_and_host(world, hold, mem_scan, tmp_path):
    world(count=2)
    report = tmp_path / "r.json"
    done = mem_scan("--gpu-id", 1, "--interval", "0.05", "--output", report, *hold("seen", 1, 1024))
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Starting memory monitoring for: ") and lines[1] == "GPU ID: 1, Interval: 0.05s"
    assert lines[2] == "-" * 60 and lines[3] == "held" and lines[5:8] == ["=" * 60, "MEMORY USAGE REPORT", "=" * 60]
    at = lines.index("GPU Memory Usage:")
    assert lines[at + 1] == "  Peak: 1.0 GB" and lines[at + 2].startswith("  Min:  ") and "Avg:" in lines[at + 3]
    assert lines[-1] == f"Report saved to: {report}" and "Return Code: 0" in lines
    told = json.loads(report.read_text())
    assert list(told)[:5] == ["execution_time", "return_code", "memory_usage", "command", "timestamp"]
    usage = told["memory_usage"]
    assert list(usage) == ["gpu_peak_gb", "gpu_min_gb", "gpu_avg_gb", "host_peak_gb", "host_min_gb", "host_avg_gb"]
    assert usage["gpu_peak_gb"] == 1.0 and usage["host_peak_gb"] >= usage["host_avg_gb"] >= usage["host_min_gb"] > 0


def test_mem_scan_without_a_device_warns_and_says_null(world, mem_scan, tmp_path):
    report = tmp_path / "r.json"
    done = mem_scan("--output", report, "sh", "-c", "exit 7")
    assert done.returncode == 7 and done.stderr.startswith("Warning: no GPU memory is monitored")
    assert "GPU Memory Usage:\n  Peak: n/a\n" in done.stdout
    assert json.loads(report.read_text())["memory_usage"]["gpu_peak_gb"] is None


def test_mem_scan_leaves_the_options_of_the_command_to_it(world, mem_scan):
    assert "--quiet --output z.json\n" in mem_scan("echo", "--quiet", "--output", "z.json").stdout
    assert "said" not in mem_scan("--quiet", "sh", "-c", "echo sa''id >&2; echo sa''id").stdout
    assert mem_scan("--", "sh", "-c", "kill -9 $$").returncode == 247
    gone = mem_scan("/no/such/command")
    assert gone.returncode == 1 and "Error executing command: " in gone.stdout
    assert mem_scan("--interval", "-1", "true").returncode == 2
    assert mem_scan().returncode == 2
    assert "--gpu-id" in mem_scan("--help").stdout
