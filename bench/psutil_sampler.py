"""psutil_sampler.py INTERVAL COMMAND... - what a sampler built on psutil sees of a tree's peak.

The loop that most tools of this kind have: sum the RSS of a process and its children, keep the
largest, sleep. Prints the peak in bytes and the number of samples on stderr.
"""

import subprocess
import sys
import time

import psutil


def tree_rss(root):
    total = 0
    for process in [root, *root.children(recursive=True)]:
        try:
            total += process.memory_info().rss
        except psutil.Error:
            continue
    return total


def main():
    interval = float(sys.argv[1])
    command = subprocess.Popen(sys.argv[2:])
    root = psutil.Process(command.pid)
    peak = samples = 0
    while command.poll() is None:
        try:
            peak = max(peak, tree_rss(root))
        except psutil.Error:
            break
        samples += 1
        time.sleep(interval)
    command.wait()
    print(peak, samples, file=sys.stderr)


if __name__ == "__main__":
    main()
