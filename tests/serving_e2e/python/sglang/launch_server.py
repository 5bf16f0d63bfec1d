"""Stands in for SGLang's server: tests/serving_programs/sglang.go."""

import os
import sys

os.execvp("sglang", ["sglang", *sys.argv[1:]])
