package provider

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/image"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// script runs a shell script as a provider. It also returns the PID that the script wrote into the file $PID.
func script(t *testing.T, ctx context.Context, text string) (answer []byte, child int, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	answer, err = run(ctx, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
		cmd.Env = append(os.Environ(), "PID="+file)
		return cmd
	})
	if raw, readErr := os.ReadFile(file); readErr == nil {
		child, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
	}
	return answer, child, err
}

// gone waits until a process has exited or is a zombie.
func gone(t *testing.T, pid int) {
	t.Helper()
	if pid <= 0 {
		t.Fatal("the script has started no process")
	}
	for range 1000 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d lives on", pid)
}

// A provider with endless output is killed with its children, and no more than the limit is kept.
func TestEndlessAnswer(t *testing.T) {
	answer, child, err := script(t, t.Context(), `yes & echo $! > $PID; wait`)
	if !errors.Is(err, errTooLong) || answer != nil {
		t.Errorf("%d bytes, %v", len(answer), err)
	}
	gone(t, child)
}

func TestEndlessErrors(t *testing.T) {
	_, _, err := script(t, t.Context(), `head -c 10000000 /dev/zero | tr '\0' x >&2; exit 3`)
	if err == nil || err.Error() != "exit status 3 (10000000 bytes on stderr)" {
		t.Errorf("%.200v", err)
	}
}

// The timeout also applies to the children.
func TestNoAnswer(t *testing.T) {
	for name, before := range map[string]string{"says nothing": "", "closes its output": "exec >&- 2>&-; "} {
		t.Run(name, func(t *testing.T) { noAnswer(t, before) })
	}
}

func noAnswer(t *testing.T, before string) {
	ctx, cancel := context.WithCancelCause(t.Context())
	started := filepath.Join(t.TempDir(), "started")
	go func() {
		for range 6000 { // a minute
			if _, err := os.Stat(started); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel(errors.New("enough"))
	}()
	_, child, err := script(t, ctx, before+`sleep 1000 & echo $! > $PID; : > `+started+`; wait`)
	if err == nil || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	gone(t, child)
}

// A daemon that keeps the provider's stdout open does not outlive the call.
func TestLeftBehind(t *testing.T) {
	_, child, err := script(t, t.Context(), `sleep 1000 & echo $! > $PID; echo {}`)
	if err == nil || !strings.Contains(err.Error(), "keeps its stdout") {
		t.Error(err)
	}
	gone(t, child)
}

// A daemon that has left the provider's group and keeps its stdout is not killed: after the provider was reaped,
// another group may have the PID.
func TestLeftTheGroup(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
	_, child, err := script(t, t.Context(), `setsid sleep 1000 & echo $! > $PID; while [ "$(cut -d' ' -f5 /proc/$!/stat)" = $$ ]; do :; done; echo {}`)
	if err == nil || !strings.Contains(err.Error(), "keeps its stdout") {
		t.Error(err)
	}
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	gone(t, child)
}

// A reaped process is not killed by its PID: here the PID of a group that continues.
func TestNumberOfAnother(t *testing.T) {
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	g := &group{c: c}
	g.release()
	if err := g.kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := c.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("another's process: %v", err)
	}
}

// TestHostileAnswers: output that another program controls.
func TestHostileAnswers(t *testing.T) {
	const head = `{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Image",`
	for name, tt := range map[string]struct {
		answer string
		logins int
	}{
		"no logins":         {head + `"auth":null}`, 0},
		"a login of null":   {head + `"auth":{"q.io:5000":null}}`, 1},
		"an endless number": {head + `"auth":{},"cacheDuration":"` + strings.Repeat("9", 1000) + `h"}`, -1},
		"a negative time":   {head + `"auth":{"q.io:5000":{"username":"u"}},"cacheDuration":"-1h"}`, 1},
		"deep":              {head + `"x":` + strings.Repeat("[", 100_000), -1},
		"two documents":     {head + `"auth":{}}{}`, -1},
		"nothing":           {"", -1},
		"odd places":        {head + `"auth":{"":{"username":"u"},"*":{},"*.*.*.*":{},"%zz":{},"http://":{},"[::1":{},"a..b":{},"/":{},":":{},"q.io:99999999":{}}}`, 0},
	} {
		cfg, _, rec := world(t, one, "cat "+filepath.Join(t.TempDir(), "answer"))
		if err := os.WriteFile(strings.Fields(readLast(t, filepath.Join(cfg.BinDir, "ecr")))[1], []byte(tt.answer), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Lookup(t.Context(), "q.io:5000/x", nil)
		failed := len(tracetest.Events[trace.Log](rec)) > 0
		if failed != (tt.logins < 0) || len(got) != max(0, tt.logins) {
			t.Errorf("%s: %v, and told of: %v", name, got, failed)
		}
	}
}

func readLast(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return lines[len(lines)-1]
}

// TestCacheBound requests more images than are kept.
func TestCacheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cache
		for i := range 2 * maxCached {
			c.put("r.io/"+strconv.Itoa(i), "", map[string]image.Login{"r.io": {Username: "u"}}, time.Duration(i+1)*time.Hour)
		}
		if len(c.all) != maxCached {
			t.Errorf("%d answers are kept", len(c.all))
		}
		if _, ok := c.get("r.io/0", ""); ok {
			t.Error("the answer that would not have held much longer is kept")
		}
		if _, ok := c.get("r.io/"+strconv.Itoa(2*maxCached-1), ""); !ok {
			t.Error("the newest answer is not kept")
		}
	})
}
