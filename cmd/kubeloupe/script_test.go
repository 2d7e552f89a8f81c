package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"

	"github.com/kubeloupe/kubeloupe/agent/config"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){nameOwn: main, nameFile: main, nameComplete: main})
}

// TestScripts runs the command as a user would. See testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "until": until, "records": records, "noescapes": noEscapes, "serve": serve, "eventually": eventually, "inorder": inOrder,
			"collector": collect, "collected": collected,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "noruntime": // no container runtime of the host is in the way
				return !slices.ContainsFunc(config.WellKnownRuntimes(), func(e string) bool {
					_, err := os.Stat(strings.TrimPrefix(e, "unix://"))
					return err == nil
				}), nil
			}
			return false, errors.New("no such condition")
		},
	})
}

// program is the command as the script would run it.
func program(ts *testscript.TestScript, ctx context.Context, args []string) *exec.Cmd {
	path := args[0]
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if p := filepath.Join(dir, args[0]); !filepath.IsAbs(path) {
			if info, err := os.Stat(p); err == nil && !info.IsDir() {
				path = p
			}
		}
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "WORK", "TERM", "GOCOVERDIR", "CONTAINER_RUNTIME_ENDPOINT", socketEnv} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// exits CODE COMMAND...: the command ends with that code and says why on standard error, which
// goes to the file said. What the user can fix is said before there is any other output, unless it
// takes the runtime's answer to know (late CODE).
func exits(ts *testscript.TestScript, neg bool, args []string) {
	late := len(args) > 0 && args[0] == "late"
	if late {
		args = args[1:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits [late] CODE COMMAND...")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := program(ts, ctx, args[1:])
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	ts.Logf("%s%s", &out, &errs)
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s (%v), want %s", got, err, args[0])
	}
	if args[0] == strconv.Itoa(exitUser) && !late && out.Len() > 0 || errs.Len() == 0 {
		ts.Fatalf("%d bytes on standard output and %d on standard error", out.Len(), errs.Len())
	}
	ts.Check(os.WriteFile(ts.MkAbs("said"), errs.Bytes(), 0o600))
}

// eventually REGEXP COMMAND...: the command, tried again and again, ends with 0 and an output that matches.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually REGEXP COMMAND...")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	want := regexp.MustCompile(args[0])
	for {
		out, err := program(ts, ctx, args[1:]).CombinedOutput()
		if err == nil && want.Match(out) {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("no match for %q (%v) in:\n%s", args[0], err, out)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// until REGEXP FILE COMMAND...: the command runs until a line of its output matches, then
// it is told to end by SIGTERM and ends with 0. All of its output is in FILE.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: until REGEXP FILE COMMAND...")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	want := regexp.MustCompile(args[0])
	cmd := program(ts, ctx, args[2:])
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	var all bytes.Buffer
	matched := false
	lines := bufio.NewReader(out)
	for err == nil {
		var line []byte
		line, err = lines.ReadBytes('\n')
		all.Write(line)
		if !matched && want.Match(line) {
			matched = true
			ts.Check(cmd.Process.Signal(syscall.SIGTERM))
		}
	}
	err = cmd.Wait()
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), all.Bytes(), 0o600))
	if !matched || err != nil {
		ts.Fatalf("matched: %v, %v\n%s\n%s", matched, err, &all, &errs)
	}
}

// records FILE: every line is a record.
func records(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: records FILE")
	}
	n := 0
	for _, err := range jsonl.Read(strings.NewReader(ts.ReadFile(args[0]))) {
		ts.Check(err)
		n++
	}
	if n < 10 {
		ts.Fatalf("%d records", n)
	}
}

// noescapes FILE: not one escape byte is in it.
func noEscapes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: noescapes FILE")
	}
	if i := strings.IndexByte(ts.ReadFile(args[0]), 0x1b); i >= 0 {
		ts.Fatalf("escape byte at %d", i)
	}
}

// serve grpc|mute SOCKET: something listens there that is not a CRI server: a gRPC server
// without services, or one that hangs up on whoever calls.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serve grpc|mute SOCKET")
	}
	l, err := net.Listen("unix", ts.MkAbs(args[1]))
	ts.Check(err)
	if args[0] == "grpc" {
		s := grpc.NewServer()
		go func() { _ = s.Serve(l) }()
		ts.Defer(s.Stop)
		return
	}
	ts.Defer(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
}
