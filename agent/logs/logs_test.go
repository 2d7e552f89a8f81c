package logs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

const (
	t1 = "2026-01-02T03:04:05.000000001Z"
	t2 = "2026-01-02T03:04:06.5Z"
	t3 = "2026-01-02T03:04:07.000000003+01:00"
)

func sample() string {
	return t1 + " stdout F one\n" + t2 + " stderr P tw\n" + t2 + " stderr F o\n" + "rubbish\n" + t3 + " stdout F:x three\n" + t1 + " stdout F \n"
}

func TestCopy(t *testing.T) {
	after, err := time.Parse(time.RFC3339, "2026-01-02T03:04:06Z")
	if err != nil {
		t.Fatal(err)
	}
	long := t1 + " stdout F " + strings.Repeat("x", 100<<10) + "\n"
	for _, c := range []struct {
		name, log   string
		opts        Options
		out, errOut string
	}{
		{"all", sample(), Options{}, "one\nthree\n\n", "two\n"},
		{"timestamps", sample(), Options{Timestamps: true}, "2026-01-02T03:04:05.000000001Z one\n2026-01-02T03:04:07.000000003+01:00 three\n2026-01-02T03:04:05.000000001Z \n", "2026-01-02T03:04:06.500000000Z two\n"},
		{"tail counts entries", sample(), Options{Tail: new(int64(2))}, "three\n\n", ""},
		{"tail 0", sample(), Options{Tail: new(int64(0))}, "", ""},
		{"tail more than there are", sample(), Options{Tail: new(int64(99))}, "one\nthree\n\n", "two\n"},
		{"tail over blocks", sample() + long + t1 + " stdout F end\n", Options{Tail: new(int64(3))}, "\n" + strings.Repeat("x", 100<<10) + "\nend\n", ""},
		{"limit", sample(), Options{Limit: new(int64(5))}, "one\n", "t"},
		{"since", sample(), Options{Since: after}, "", "two\n"},
		{"unfinished", sample() + t1 + " stdout F half", Options{Tail: new(int64(1))}, "\n", ""},
		{"unfinished, all", t1 + " stdout F half", Options{}, "half", ""},
		{"empty", "", Options{}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "0.log")
			write(t, path, c.log)
			var out, errOut bytes.Buffer
			l, err := open(t, path, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := l.Copy(t.Context(), nil, nil, &out, &errOut); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.out || errOut.String() != c.errOut {
				t.Errorf("stdout %.300q stderr %.300q, want %.300q and %.300q", out.String(), errOut.String(), c.out, c.errOut)
			}
		})
	}
}

func TestOneStream(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	write(t, path, sample())
	l, err := open(t, path, Options{Limit: new(int64(3))})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out bytes.Buffer
	if err := l.Copy(t.Context(), nil, nil, nil, &out); err != nil || out.String() != "two" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestUnsupportedFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	write(t, path, `{"log":"x"}`+"\n")
	l, err := open(t, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Copy(t.Context(), nil, nil, io.Discard, io.Discard); !errors.Is(err, errTime) {
		t.Errorf("error %v", err)
	}
	if _, err := open(t, path+".not", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// A follower reads what is written, across a rotation, until the container has exited.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	write(t, path, t1+" stdout F skipped\n"+t1+" stdout F one\n"+t1+" stdout F t")
	var ended atomic.Bool
	running := func(context.Context) (bool, error) { return !ended.Load(), nil }
	l, err := open(t, path, Options{Follow: true, Tail: new(int64(1))})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- errors.Join(l.Copy(t.Context(), running, nil, w, w), w.Close()) }()
	read := bufio.NewReader(r)
	expect := func(want string) {
		t.Helper()
		if got, err := read.ReadString('\n'); err != nil || got != want+"\n" {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
	expect("one")
	write(t, path, "wo\n")
	expect("two")
	old, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := os.Rename(path, path+".20260102-030405"); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(old, t1+" stdout F late")
	write(t, path, t1+" stdout F new\n")
	expect("late")
	expect("new")
	write(t, path, t1+" stdout F last\n")
	ended.Store(true)
	expect("last")
	if rest, err := io.ReadAll(read); err != nil || len(rest) != 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFollowEndsWithItsClient(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	write(t, path, "")
	l, err := open(t, path, Options{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	asked := func(context.Context) (bool, error) { cancel(); return true, nil }
	if err := l.Copy(ctx, asked, nil, io.Discard, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestPlanRotation(t *testing.T) {
	files := []string{"l.3.gz", "l.2.gz", "l.1.gz", "l.4", "l.5", "l.5.tmp", "l.2"}
	keep, remove := planRotation(files, 4)
	if want := []string{"l.4", "l.5"}; !slices.Equal(keep, want) {
		t.Errorf("keeps %v, want %v", keep, want)
	}
	slices.Sort(remove)
	if want := []string{"l.1.gz", "l.2", "l.2.gz", "l.3.gz", "l.5.tmp"}; !slices.Equal(remove, want) {
		t.Errorf("removes %v, want %v", remove, want)
	}
}

type reopener struct {
	path string
	err  error
	n    int
}

func (r *reopener) ReopenContainerLog(context.Context, *runtimeapi.ReopenContainerLogRequest, ...grpc.CallOption) (*runtimeapi.ReopenContainerLogResponse, error) {
	r.n++
	if r.err == nil {
		r.err = os.WriteFile(r.path, nil, 0o640)
	}
	return nil, r.err
}

func TestRotate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "web[1]")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "0.log")
	runtime, rec := &reopener{path: path}, tracetest.New(t)
	r, err := NewRotator(RotatorConfig{
		MaxSize: 4, MaxFiles: 3, Workers: 1, Interval: time.Second, Runtime: runtime, Bus: rec.Bus(),
		Containers: func() []Container { return []Container{{ID: "c", Path: path}} },
	})
	if err != nil {
		t.Fatal(err)
	}
	pass := func() { r.pass(t.Context()); r.work.Wait() }
	write(t, path+".20200101-000000", "older")
	write(t, path, "123")
	pass()
	if runtime.n != 0 {
		t.Fatal("a short log was rotated")
	}
	write(t, path, "4")
	pass()
	files, err := filepath.Glob(globEscape(path) + "*")
	if err != nil || len(files) != 3 || runtime.n != 1 {
		t.Fatalf("%v, %v, reopened %d times", files, err, runtime.n)
	}
	z, err := os.Open(path + ".20200101-000000.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	unzip, err := gzip.NewReader(z)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := io.ReadAll(unzip); err != nil || string(p) != "older" {
		t.Errorf("%q, %v", p, err)
	}
	write(t, path, "12345")
	runtime.err = errors.New("no")
	pass()
	if p, err := os.ReadFile(path); err != nil || string(p) != "12345" {
		t.Errorf("after a failed reopen the log has %q, %v", p, err)
	}
	runtime.err = nil
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	pass()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("a missing log is not made again: %v", err)
	}
	var verdicts []trace.Verdict
	for _, d := range tracetest.Events[trace.Decision](rec) {
		if d.By != trace.ByLogRotation || d.Subject != path {
			t.Errorf("%+v", d)
		}
		verdicts = append(verdicts, d.Verdict)
	}
	if want := []trace.Verdict{trace.VerdictRotate, trace.VerdictRotate, trace.VerdictReopen}; !slices.Equal(verdicts, want) {
		t.Errorf("decided %q, want %q", verdicts, want)
	}
}

func write(t *testing.T, path, s string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(s); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string, o Options) (*Log, error) {
	t.Helper()
	return Open(t.Context(), guestfile.New(guestfile.Config{}), path, o)
}

// A runtime that does not split lines writes entries of any length: they are written as they arrive, and not kept.
func TestLongEntries(t *testing.T) {
	const size = 8 << 20
	text := strings.Repeat("x", size)
	path := filepath.Join(t.TempDir(), "0.log")
	write(t, path, t1+" stdout F short\n"+t1+" stdout P "+text+"\n"+t1+" stdout F "+text+"\n"+strings.Repeat("?", size)+"\n"+t1+" stdout F end\n")
	l, err := open(t, path, Options{Timestamps: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out bytes.Buffer
	if err := l.Copy(t.Context(), nil, nil, &out, nil); err != nil {
		t.Fatal(err)
	}
	if want := t1 + " short\n" + t1 + " " + text + text + "\n" + t1 + " end\n"; out.String() != want {
		t.Errorf("%d bytes, want %d", out.Len(), len(want))
	}
	if have := cap(l.part); have > 4*maxPart {
		t.Errorf("%d bytes are kept of an entry", have)
	}
	// An invalid first entry is an error however long it is; the error does not quote all of it.
	write(t, path+"x", text)
	bad, err := open(t, path+"x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	if err := bad.Copy(t.Context(), nil, nil, &out, nil); err == nil || len(err.Error()) > 1000 {
		t.Errorf("a log that is none: %v", err)
	}
}

// Only regular files are opened as logs.
func TestNoLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	kind := new(guestfile.KindError)
	if _, err := open(t, path, Options{}); !errors.As(err, &kind) {
		t.Errorf("a named pipe: %v", err)
	}
}
