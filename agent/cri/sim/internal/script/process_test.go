package script

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func TestProcess(t *testing.T) {
	sh := func(src string) []string { return []string{"sh", "-c", src} }
	for _, tc := range []struct {
		name   string
		args   []string
		init   bool
		once   bool
		limit  int64
		termAt time.Duration // 0: no TERM
		killAt time.Duration // 0: no KILL
		want   Exit
		after  time.Duration // exact, in fake time
		out    string
		errOut string // contained
	}{
		{name: "true", args: []string{"/bin/true"}},
		{name: "false", args: []string{"false"}, want: Exit{Code: 1}},
		{name: "sleep", args: []string{"sleep", "2.5"}, after: 2500 * time.Millisecond},
		{name: "sleep minutes", args: []string{"sleep", "1m", "30s"}, after: 90 * time.Second},
		{name: "sleep nonsense", args: []string{"sleep", "x"}, want: Exit{Code: 1}, errOut: "invalid number"},
		{name: "echo", args: []string{"echo", "a", "b"}, out: "a b\n"},
		{name: "exit code of a script", args: sh("sleep 1; exit 3"), want: Exit{Code: 3}, after: time.Second},
		{name: "status of the last command", args: sh("true; false"), want: Exit{Code: 1}},
		{name: "and, or, not", args: sh("true && echo a || echo b; false && echo c || echo d; ! false && echo e"), out: "a\nd\ne\n"},
		{name: "quotes and variables", args: sh(`A="x y"; echo $A "$A" '$A' \$A ${B:-none} ${HOME}`), out: "x y x y $A $A none /root\n"},
		{name: "counter", args: sh(`i=0; while [ $i -lt 3 ]; do echo "$i: $(hostname)"; i=$((i+1)); sleep 1; done`), out: "0: pod\n1: pod\n2: pod\n", after: 3 * time.Second},
		{name: "for", args: sh("for i in $(seq 1 2) x; do echo $i; done"), out: "1\n2\nx\n"},
		{name: "if", args: sh("if [ -f /a ]; then echo a; elif test x = x; then echo b; else echo c; fi"), out: "b\n"},
		{name: "break", args: sh("while true; do break; done; echo out"), out: "out\n"},
		{name: "files", args: sh("touch /tmp/h; cat /tmp/h && echo yes; rm -f /tmp/h; cat /tmp/h"), out: "yes\n", errOut: "can't open '/tmp/h'", want: Exit{Code: 1}},
		{name: "write and read", args: sh("echo hi > /data/x; echo ho >> /data/x; cat /data/x; test -d /data"), out: "hi\nho\n"},
		{name: "output to standard error", args: sh("echo bad >&2; echo gone >/dev/null 2>&1"), errOut: "bad\n"},
		{name: "arguments", args: []string{"sh", "-c", "echo $0 $1 $#", "me", "x"}, out: "me x 1\n"},
		{name: "arithmetic", args: sh("n=4; echo $((2*(n+1)-1)) $((7/2)) $((1/0))"), out: "9 3 0\n"},
		{name: "unknown in a shell", args: sh("nosuch; echo $?"), out: "127\n", errOut: "nosuch: not found"},
		{name: "syntax error", args: sh("if true; then"), want: Exit{Code: 2}, errOut: "syntax error"},
		{name: "background is killed with the process", args: sh("sleep 100 & sleep 1"), after: time.Second},
		{name: "wait", args: sh("sleep 3 & sleep 2 & wait; echo done"), out: "done\n", after: 3 * time.Second},
		{name: "env prefix", args: []string{"env", "A=b", "sh", "-c", "exit 4"}, want: Exit{Code: 4}},
		{name: "shell in a shell", args: sh("sh -c 'exit 4'; echo $?"), out: "4\n"},
		{name: "shell without input", args: []string{"sh"}},

		{name: "TERM ends sleep", args: []string{"sleep", "100"}, termAt: time.Second, want: Exit{Code: 143}, after: time.Second},
		{name: "TERM does not end sleep as init", args: []string{"sleep", "5"}, init: true, termAt: time.Second, after: 5 * time.Second},
		{name: "TERM ends a server as init", args: []string{"serverd"}, init: true, termAt: time.Second, want: Exit{Code: 143}, after: time.Second},
		{name: "a shell is replaced by its only command", args: sh("serverd --flag"), init: true, termAt: time.Second, want: Exit{Code: 143}, after: time.Second},
		{name: "a shell as init does not pass TERM on", args: sh("echo go; serverd"), init: true, termAt: time.Second, killAt: 4 * time.Second, want: Exit{Code: 137}, after: 4 * time.Second, out: "go\n"},
		{name: "exec makes it init", args: sh("echo go; exec serverd"), init: true, termAt: time.Second, want: Exit{Code: 143}, after: time.Second, out: "go\n"},
		{name: "trap runs when the command has ended", args: sh("trap 'echo bye; exit 5' TERM; while true; do sleep 2; done"), init: true, termAt: 3 * time.Second, want: Exit{Code: 5}, after: 4 * time.Second, out: "bye\n"},
		{name: "trap interrupts wait", args: sh("trap 'exit 6' TERM INT; sleep 100 & wait"), init: true, termAt: time.Second, want: Exit{Code: 6}, after: time.Second},
		{name: "trap ignores", args: sh("trap '' TERM; sleep 100"), termAt: time.Second, killAt: 3 * time.Second, want: Exit{Code: 137}, after: 3 * time.Second},
		{name: "trap by number and back", args: sh("trap 'exit 1' 15; trap - SIGTERM; sleep 100; true"), termAt: time.Second, want: Exit{Code: 143}, after: time.Second},
		{name: "busy loop can be killed", args: sh("while :; do :; done"), killAt: time.Second, want: Exit{Code: 137}, after: time.Second},
		{name: "tail -f", args: []string{"tail", "-f", "/dev/null"}, termAt: time.Second, want: Exit{Code: 143}, after: time.Second},
		{name: "out of memory", args: []string{"tail", "/dev/zero"}, limit: 1 << 20, want: Exit{Code: 137, OOM: true}, after: hungry},
		{name: "no limit to run out of", args: []string{"tail", "/dev/zero"}, killAt: 9 * time.Second, want: Exit{Code: 137}, after: 9 * time.Second},
		{name: "not simulated", args: sh("yes | head"), termAt: time.Second, want: Exit{Code: 143}, after: time.Second, errOut: "not simulated"},
		{name: "not simulated, once", args: sh("yes | head"), once: true, errOut: "not simulated"},
		{name: "unknown program of a probe", args: []string{"serverd", "ready"}, once: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out, errOut safeBuffer
				p, err := New(Config{
					Args: tc.args, Env: []string{"HOME=/root"}, Hostname: "pod", Init: tc.init, Once: tc.once, MemoryLimit: tc.limit,
					Exists: func(name string) bool { return name != "nosuch" }, Stdout: &out, Stderr: &errOut,
				})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if tc.termAt > 0 {
					defer time.AfterFunc(tc.termAt, func() { p.Signal("TERM") }).Stop()
				}
				if tc.killAt > 0 {
					defer time.AfterFunc(tc.killAt, func() { p.Signal("KILL") }).Stop()
				}
				if got := p.Run(); got != tc.want {
					t.Errorf("exit = %+v, want %+v", got, tc.want)
				}
				if got := time.Since(began); got != tc.after {
					t.Errorf("ended after %v, want %v", got, tc.after)
				}
				if got := out.b.String(); got != tc.out {
					t.Errorf("stdout = %q, want %q", got, tc.out)
				}
				if got := errOut.b.String(); !strings.Contains(got, tc.errOut) || tc.errOut == "" && got != "" {
					t.Errorf("stderr = %q, want it to contain %q", got, tc.errOut)
				}
			})
		})
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no error for an empty command")
	}
	_, err := New(Config{Args: []string{"/bin/nosuch"}, Exists: func(n string) bool { return n == "sh" }})
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound", err)
	}
}

// FuzzScript checks that no script panics or hangs the parser, and that a kill ends every one that runs.
func FuzzScript(f *testing.F) {
	for _, s := range []string{"a && b", "while :; do x; done", `echo "$(a "b")" $((1+`, "trap '' TERM; wait", "$(", "2>&1 x >", "for i in", "${", "$", "`a`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := New(Config{Args: []string{"sh", "-c", src}, Exists: func(n string) bool { return !slices.Contains([]string{"nosuch"}, n) }})
		if err != nil {
			t.Skip()
		}
		defer time.AfterFunc(20*time.Millisecond, func() { p.Signal("KILL") }).Stop()
		p.Run()
	})
}
