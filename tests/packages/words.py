"""What tools/check_packages records of Python: lines that hold memory, and a region."""

import tidemark


def load():
    return [str(i) * 20 for i in range(30000)]


with tidemark.region("load"):
    words = load()
print(len(words), "words")
