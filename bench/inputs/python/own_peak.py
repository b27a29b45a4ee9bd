"""Print the high-water mark of this process's memory."""
with open("/proc/self/status", encoding="ascii") as status:
    print("VmHWM", next(line.split()[1] for line in status if line.startswith("VmHWM")))
