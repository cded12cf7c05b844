"""The example with a kernel of its own: with GPUs it finds its mean, without a
driver it says so in the library's words."""
import os
import subprocess
import sys

folder = os.environ.get("HDP_BUILD_DIR", "")
program = os.path.join(folder, "examples", "04_own_kernel")
if not os.access(program, os.X_OK):
    print(f"skipped: no program at '{program}', which wants nvcc")
    sys.exit(77)
done = subprocess.run([program], capture_output=True, text=True, timeout=120,
                      check=False)
said = done.stdout.strip()
if done.returncode == 0 and said.endswith("mean 99.00"):
    sys.exit(0)
if done.returncode == 77 and said.startswith("no device: "):
    sys.exit(0)
print(f"exit code {done.returncode}, expected 0 with the mean or 77 with "
      f"'no device: ...'; got: {said} {done.stderr}")
sys.exit(1)
