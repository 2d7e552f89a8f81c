package verbosity_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletapi"
	"github.com/kubeloupe/kubeloupe/inspect/attach/verbosity"
)

// What this program is when it is run by a test.
const (
	role = "KUBELOUPE_TEST_VERBOSITY"
	job  = "KUBELOUPE_TEST_JOB"
)

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "watchdog":
		if err := verbosity.Watchdog(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "raiser":
		var j verbosity.Job
		if err := json.Unmarshal([]byte(os.Getenv(job)), &j); err != nil {
			panic(err)
		}
		if _, err := j.Raise(context.Background(), 4, watchdog()); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("raised")
		select {}
	}
	os.Exit(m.Run())
}

func watchdog() *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), role+"=watchdog")
	return c
}

// kubelet is one as far as its verbosity goes.
type kubelet struct {
	job    verbosity.Job
	mu     sync.Mutex
	was    []string
	fail   int // how many requests fail first, once it was raised
	denied bool
	torn   int // how many requests it takes without an answer
	change chan struct{}
}

func newKubelet(t *testing.T) *kubelet {
	t.Helper()
	k := &kubelet{change: make(chan struct{}, 100)}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		defer k.mu.Unlock()
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/configz":
			io.WriteString(w, `{"kubeletconfig":{"logging":{"format":"text","verbosity":2}}}`) // the client tells
		case r.Method == http.MethodPut && r.URL.Path == "/debug/flags/v":
			if len(k.was) > 0 && k.fail > 0 {
				k.fail--
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			if k.denied {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			b, _ := io.ReadAll(r.Body)
			k.was = append(k.was, string(b))
			k.change <- struct{}{}
			if k.torn > 0 {
				k.torn--
				panic(http.ErrAbortHandler)
			}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	dir := t.TempDir()
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert := write("kubelet.crt", "CERTIFICATE", pair.Certificate[0])
	k.job = verbosity.Job{
		Client: kubeletapi.Client{
			Address: strings.TrimPrefix(s.URL, "https://"), Cert: cert, Key: write("kubelet.key", "PRIVATE KEY", key), Pins: []string{filepath.Join(dir, "none.pem"), cert},
		},
		Old: 2, Until: time.Now().Add(time.Hour),
	}
	return k
}

// saw waits until the kubelet's verbosity was set so often, and returns to what.
func (k *kubelet) saw(t *testing.T, n int) string {
	t.Helper()
	for range n {
		select {
		case <-k.change:
		case <-time.After(time.Minute):
			t.Fatal("the verbosity is not put back")
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Join(k.was, " ")
}

func TestRaise(t *testing.T) {
	k := newKubelet(t)
	if v, err := k.job.Verbosity(t.Context()); v != 2 || err != nil {
		t.Fatalf("the verbosity is %d, %v", v, err)
	}
	k.fail = 1 // and then it answers
	r, err := k.job.Raise(t.Context(), 4, watchdog())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := k.saw(t, 2); got != "4 2" {
		t.Errorf("the verbosity was %s", got)
	}
}

// TestTime has it put back at its time, by the watchdog alone.
func TestTime(t *testing.T) {
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		k := newKubelet(t)
		k.job.Until = time.Now().Add(wait)
		r, err := k.job.Raise(t.Context(), 4, watchdog())
		if errors.Is(err, verbosity.ErrOver) { // this machine is busy
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		<-r.Done
		if got := k.saw(t, 2); got != "4 2" {
			t.Errorf("the verbosity was %s", got)
		}
		return
	}
}

// TestOver does not leave it raised where its time was over before.
func TestOver(t *testing.T) {
	k := newKubelet(t)
	k.job.Until = time.Now()
	if _, err := k.job.Raise(t.Context(), 4, watchdog()); !errors.Is(err, verbosity.ErrOver) {
		t.Errorf("error %v", err)
	}
	if got := k.saw(t, 3); !strings.HasSuffix(got, "2") {
		t.Errorf("the verbosity was %s", got)
	}
}

// TestKilled kills who raised it.
func TestKilled(t *testing.T) {
	k := newKubelet(t)
	text, err := json.Marshal(k.job)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), role+"=raiser", job+"="+string(text))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	c.Process.Kill() // Wait tells
	c.Wait()         // it was killed
	if said != "raised\n" || err != nil {
		t.Fatalf("it said %q, %v", said, err)
	}
	if got := k.saw(t, 2); got != "4 2" {
		t.Errorf("the verbosity was %s", got)
	}
}

// TestNotArmed sees that nothing is raised without a watchdog, without rights and where somebody else listens.
func TestNotArmed(t *testing.T) {
	k := newKubelet(t)
	if _, err := k.job.Raise(t.Context(), 4, exec.Command("false")); err == nil || !strings.Contains(err.Error(), "not ready") {
		t.Errorf("without a watchdog: %v", err)
	}
	other := k.job
	other.Address = newKubelet(t).job.Address // httptest has one certificate: that of another file
	other.Pins = []string{filepath.Join(t.TempDir(), "kubelet.crt")}
	if _, err := other.Verbosity(t.Context()); err == nil || !strings.Contains(err.Error(), "serving certificate is in none of") {
		t.Errorf("without a certificate to compare: %v", err)
	}
	other.Kubeconfig = filepath.Join(t.TempDir(), "admin.conf")
	if err := os.WriteFile(other.Kubeconfig, []byte("users: [{name: a, user: {username: x}}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := other.Set(t.Context(), 4); err == nil || !strings.Contains(err.Error(), "has neither a client certificate nor a token") {
		t.Errorf("without rights: %v", err)
	}
	k.unchanged(t)
}

// TestNeverArmed has watchdogs that run and never get ready: they are ended, and nothing is raised.
func TestNeverArmed(t *testing.T) {
	for name, script := range map[string]string{"hangs": "exec sleep 40", "leaves a child": "sleep 40 & wait"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKubelet(t)
			c := exec.Command("sh", "-c", script)
			began := time.Now()
			if _, err := k.job.Raise(t.Context(), 4, c); !errors.Is(err, verbosity.ErrNotArmed) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(began); took > 35*time.Second { // the bound is 20 s
				t.Errorf("it waited %v", took)
			}
			if c.ProcessState == nil {
				t.Error("the watchdog runs")
			}
			k.unchanged(t)
		})
	}
}

// TestRefused: a kubelet that refuses has raised nothing, and nothing is to be put back.
func TestRefused(t *testing.T) {
	k := newKubelet(t)
	k.denied = true
	began := time.Now()
	if _, err := k.job.Raise(t.Context(), 4, watchdog()); !errors.Is(err, kubeletapi.ErrDenied) || !strings.Contains(err.Error(), "update of nodes/proxy") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > time.Minute { // it is retried for ten minutes
		t.Errorf("it took %v", took)
	}
	run := func(context.Context, string, ...string) error { return nil }
	if _, err := k.job.RaiseByTimer(t.Context(), 4, verbosity.Timer{Run: run}); !errors.Is(err, kubeletapi.ErrDenied) {
		t.Errorf("with a timer: %v", err)
	}
	k.unchanged(t)
}

// TestEnded: a kubelet that has ended, and whose files its process alone saw, has no verbosity to put back.
func TestEnded(t *testing.T) {
	k := newKubelet(t)
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	j := k.job
	j.Pins = []string{fmt.Sprintf("/proc/%d/root/pki/kubelet.crt", c.ProcessState.Pid())}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- verbosity.Watchdog(ctx, strings.NewReader(string(text)+"\n"), io.Discard) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it is still tried")
	}
	k.unchanged(t)
}

// TestNoAnswer: a kubelet may have raised its verbosity where nobody got the answer. It is put back, by the timer if not at once.
func TestNoAnswer(t *testing.T) {
	for _, c := range []struct {
		torn, changes int
		was, ran      string
	}{{1, 2, "4 2", "systemd-run systemctl"}, {2, 2, "4 2", "systemd-run"}} {
		k := newKubelet(t)
		k.torn = c.torn
		var ran []string
		run := func(_ context.Context, program string, _ ...string) error {
			ran = append(ran, program)
			return nil
		}
		if _, err := k.job.RaiseByTimer(t.Context(), 4, verbosity.Timer{Run: run}); err == nil {
			t.Error("it is raised")
		}
		if got := k.saw(t, c.changes); got != c.was || strings.Join(ran, " ") != c.ran {
			t.Errorf("the verbosity was %s, it ran %q", got, ran)
		}
	}
}

func (k *kubelet) unchanged(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.was) > 0 {
		t.Errorf("the verbosity was %s", k.was)
	}
}
