package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// kernel writes /proc/sys of a machine.
func kernel(t *testing.T, values map[string]string) (proc string, read func(name string) string) {
	t.Helper()
	proc = t.TempDir()
	for name, v := range values {
		path := filepath.Join(proc, "sys", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(v+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return proc, func(name string) string {
		text, err := os.ReadFile(filepath.Join(proc, "sys", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
}

func TestTuneKernel(t *testing.T) {
	const panics, keys = "kernel/panic", "kernel/keys/root_maxkeys"
	as := map[string]string{
		"vm/overcommit_memory": "0", "vm/panic_on_oom": "0", panics: "0", "kernel/panic_on_oops": "1", keys: "200", "kernel/keys/root_maxbytes": "25000000",
	}
	proc, read := kernel(t, as)
	rec := tracetest.New(t)
	err := TuneKernel(rec.Bus(), proc, true)
	for _, want := range []string{
		"protectKernelDefaults: vm.overcommit_memory is 0; set it to 1 (sysctl -w vm.overcommit_memory=1), or set protectKernelDefaults: false",
		"protectKernelDefaults: kernel.panic is 0; set it to 10", "protectKernelDefaults: kernel.keys.root_maxkeys is 200; set it to 1000000",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err != nil && strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v, want three lines", err)
	}
	if read(panics) != "0" || len(rec.Records()) > 0 {
		t.Errorf("with protection, kernel.panic is %s, %v", read(panics), rec.Records())
	}
	if err := TuneKernel(rec.Bus(), proc, false); err != nil {
		t.Error(err)
	}
	if a, b, c := read("vm/overcommit_memory"), read(panics), read(keys); a != "1" || b != "10" || c != "1000000" {
		t.Errorf("%s %s %s", a, b, c)
	}
	if logs := tracetest.Events[trace.Log](rec); len(logs) != 3 || logs[0].Level != trace.LevelInfo || logs[1].Attrs[0].V != "kernel.panic" {
		t.Errorf("%+v", logs)
	}
	if err := TuneKernel(rec.Bus(), proc, true); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A kernel without a setting needs none; what cannot be read or written is said.
func TestTuneKernelFails(t *testing.T) {
	proc, _ := kernel(t, map[string]string{"kernel/panic": "many"})
	if err := TuneKernel(nil, proc, true); err == nil || !strings.Contains(err.Error(), "protectKernelDefaults: read kernel.panic: ") {
		t.Errorf("%v", err)
	}
	proc, _ = kernel(t, nil)
	if err := TuneKernel(nil, proc, true); err != nil {
		t.Errorf("%v", err)
	}
	if err := os.MkdirAll(filepath.Join(proc, "sys/kernel/panic"), 0o700); err != nil { // neither
		t.Fatal(err)
	}
	rec := tracetest.New(t)
	if err := TuneKernel(rec.Bus(), proc, false); err != nil {
		t.Errorf("%v", err)
	}
	if logs := tracetest.Events[trace.Log](rec); len(logs) != 1 || logs[0].Level != trace.LevelWarn || !strings.HasPrefix(logs[0].Message, "a setting of the kernel cannot be changed") {
		t.Errorf("%+v", logs)
	}
}
