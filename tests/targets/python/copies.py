"""Copy 1280 MiB on one line, and little elsewhere."""
data = bytes(4 << 20)
for _ in range(320):
    part = data[1:]  # COPY
print(len(part))
