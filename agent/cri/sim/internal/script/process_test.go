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
		after  time.Duration // exact, in simulated time
		out    string
		errOut string // text that it contains
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

		{name: "elif and else", args: sh("if false; then echo a; elif false; then echo b; else echo c; fi; if false; then :; fi; echo $?"), out: "c\n0\n"},
		{name: "until", args: sh("n=0; until [ $n = 2 ]; do n=$((n+1)); done; echo $n"), out: "2\n", after: 2 * idle},
		{name: "for over the arguments", args: []string{"sh", "-c", `for a; do echo "$a"; done; for a in "$@" $*; do echo $a; done`, "me", "x y", "z"}, out: "x y\nz\nx y\nz\nx\ny\nz\n"},
		{name: "patterns of names", args: sh("H=web-0; echo ${H##*-} ${H%-*} ${#H} ${N:=5} $N ${H+set} ${Z-none}"), out: "0 web 5 5 5 set none\n"},
		{name: "what a parameter must have", args: sh("echo ${GONE:?is missing}; echo after"), want: Exit{Code: 2}, errOut: "sh: GONE: is missing"},
		{name: "backslashes", args: sh(`A=a\ b\$c; echo "$A" \"q\" 'x\y' "\$A \n"`), out: "a b$c \"q\" x\\y $A \\n\n"},
		{name: "newlines of a command stay in quotes", args: sh(`A=$(seq 1 2); echo "$A"; echo $A`), out: "1\n2\n1 2\n"},
		{name: "no braces, no file names, no other users", args: sh(`echo {1..3} a{b,c} \{x,y} /etc/p* ~/x ~root ~nobody/y`), out: "{1..3} a{b,c} {x,y} /etc/p* /root/x ~root ~nobody/y\n"},
		{name: "printf", args: sh(`printf '%s=%d\n' a 1; printf x y; printf; echo $?`), out: "a=1\nx1\n"},
		{name: "echo with options", args: sh("echo -n a; echo -e b; echo -n"), out: "ab\n"},
		{name: "conditions", args: sh(`for c in '-n a' '-z a' '1 -lt 2' '2 -le 2' '1 -gt 2' '2 -ge 3' '1 -ne 1' '1 -eq 1' 'a != b' 'a = b' '! a' '-d /' '-f /none' '-e /none'; do [ $c ] && echo "$c"; done; [ a -lt 2 ]; echo $?`), out: "-n a\n1 -lt 2\n2 -le 2\n1 -eq 1\na != b\n-d /\n2\n", errOut: "sh: out of range"},
		{name: "no variables of the host", args: sh(`echo "[$PATH$GOCACHE$PWD$UID$PPID$USER]"; env`), out: "[]\nHOME=/root\n"},
		{name: "a redirected group", args: sh("{ echo a; echo b >&2; } > /f 2>&1; while true; do echo c; break; done >> /f; cat /f"), out: "a\nb\nc\n"},
		{name: "assignments within arithmetic", args: sh("echo $((n = 3, n += 2)) $n $((n > 4 ? 1 : 0))"), out: "5 5 1\n"},
		{name: "a pipe within a substitution", args: sh(`echo "[$(yes | head)]"`), out: "[]\n", errOut: "not simulated"},
		{name: "background jobs share the commands", args: sh("for i in 1 2 3; do while sleep 1; do A=$i; echo \"$(echo x$A)\" >> /f; done & done; sleep 2.5; test -f /f"), after: 2500 * time.Millisecond},
		{name: "a job that writes to a substitution which has ended", args: sh("echo $(echo a; { sleep 1; echo b; } &); sleep 2"), out: "a\n", after: 2 * time.Second},
		{name: "only another shell knows this", args: sh("a=(1 2); echo ${a[0]}"), once: true, errOut: "not simulated"},
		{name: "here documents", args: sh("cat <<E\nx\nE\n"), once: true, errOut: "<<: not simulated"},
		{name: "other file descriptors", args: sh("exec 3>&1"), once: true, errOut: "file descriptor 3: not simulated"},
		{name: "case", args: sh("case a in a) echo a;; esac"), once: true, errOut: "case: not simulated"},
		{name: "a function", args: sh("f() { echo a; }; f"), once: true, errOut: "a function: not simulated"},
		{name: "a subshell", args: sh("(echo a)"), once: true, errOut: "( ): not simulated"},

		{name: "a value that doubles", args: sh("a=xxxxxxxx; while true; do a=$a$a; done"), killAt: time.Second, want: Exit{Code: 137}, after: time.Second, errOut: "sh: argument list too long"},
		{name: "many values", args: sh("a=$(seq 1 9999); for i in $(seq 1 50); do eval \"v$i=x\\$a\"; done; echo $?"), out: "1\n", errOut: "sh: out of memory for variables"},
		{name: "many files", args: sh("for i in $(seq 1 501); do echo > /f$i; done; echo $?"), out: "1\n", errOut: "can't create /f501: no space left on device"},
		{name: "many jobs", args: sh("while true; do sleep 1000 & done"), want: Exit{Code: 2}, after: maxJobs * idle, errOut: "can't fork"},
		{name: "jobs that have ended count no more", args: sh("for i in $(seq 1 1000); do true & wait; done"), want: Exit{}},
		{name: "eval within eval", args: sh(`x='eval "$x"'; eval "$x"`), want: Exit{Code: 2}, errOut: "nested too deeply"},
		{name: "a shell within itself", args: sh(`x='sh -c "$1" x "$1"'; sh -c "$x" x "$x"; echo $?`), out: "2\n", errOut: "nested too deeply"},
		{name: "a long script", args: sh(strings.Repeat("true;", 10000)), once: true, errOut: "more than 32768 bytes: not simulated"},
		{name: "deep parentheses", args: sh(strings.Repeat("(", 30000)), want: Exit{Code: 2}, errOut: "syntax error"},
		{name: "deep substitutions", args: sh("echo " + strings.Repeat("$(echo ", 3000) + "x" + strings.Repeat(")", 3000)), out: "x\n"},
		{name: "deep arithmetic", args: sh("echo $((" + strings.Repeat("1+(", 5000) + "1" + strings.Repeat(")", 5000) + "))"), out: "5001\n"},
		{name: "a long pattern", args: sh("echo ${HOME#" + strings.Repeat("*a", 100) + "}"), once: true, errOut: "a pattern of more than 100 bytes: not simulated"},
		{name: "a pattern of a variable", args: sh("p='*'; echo ${HOME#$p}"), once: true, errOut: "a nested pattern in ${HOME#}: not simulated"},

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

// FuzzScript checks that no script makes the parser panic or hang, and that a kill ends every running one.
func FuzzScript(f *testing.F) {
	for _, s := range []string{
		"a && b", "while :; do x; done", `echo "$(a "b")" $((1+`, "trap '' TERM; wait", "$(", "2>&1 x >", "for i in", "${", "$", "`a`",
		"a=x; while :; do a=$a$a; done", `x='eval "$x"'; eval "$x"`, "${A%[b-a]*}", "${A#[[:x:]]}", "~a/b{1..9}", "$((1/0 + a++))", "${a:=$(b &)}", "a() { (b | c); }", "\xff\x00${\xff}", "case a in esac <<E",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := New(Config{Args: []string{"sh", "-c", src}, Exists: func(n string) bool { return !slices.Contains([]string{"nosuch"}, n) }})
		if err != nil {
			t.Skip()
		}
		defer time.AfterFunc(20*time.Millisecond, func() { p.Signal("KILL") }).Stop()
		defer time.AfterFunc(20*time.Second, func() { panic("a killed script still runs: " + src) }).Stop()
		p.Run()
	})
}
