package stats

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A directory with a long walk delays neither callers nor other directories, and has one walk at a time.
func TestSlowWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, ran atomic.Int64
		u := newUsage()
		u.walk = func(ctx context.Context, dir string) held {
			ran.Add(1)
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			if dir == "huge" {
				<-ctx.Done()
			}
			return held{bytes: 7, inodes: 1}
		}
		waits := walks{until: t.Context()}
		began := time.Now()
		for range 1000 {
			if _, ok := u.of(waits, "huge", time.Now()); ok {
				t.Fatal("it is known already")
			}
		}
		if d := time.Since(began); d > patience {
			t.Errorf("it was waited for %s", d)
		}
		if h, ok := u.of(waits, "small", time.Now()); !ok || h.bytes != 7 {
			t.Error("the other one is not known")
		}
		time.Sleep(walkLimit)
		if h, ok := u.of(waits, "huge", time.Now()); !ok || h.bytes != 7 {
			t.Error("what the walk found in its time is not known")
		}
		time.Sleep(2 * walkAgain)
		_, _ = u.of(waits, "huge", time.Now())
		if n := ran.Load(); n != 2 {
			t.Errorf("%d walks; the long one is not to be repeated for %s", n, walkFactor*walkLimit)
		}
		if most.Load() > walkers {
			t.Errorf("%d walks at once", most.Load())
		}
	})
}

// A file system that hangs is queried once at a time.
func TestHungFileSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := make(chan struct{})
		var p probes[int]
		before, began := askers(), time.Now()
		for range 1000 {
			if _, ok := p.ask("hung", func() int { <-hung; return 1 }); ok {
				t.Fatal("it answered")
			}
		}
		if d, n := time.Since(began), askers()-before; d > patience || n > 1 {
			t.Errorf("waited %s, %d goroutines", d, n)
		}
		if v, ok := p.ask("well", func() int { return 2 }); !ok || v != 2 {
			t.Error("the other one did not answer")
		}
		close(hung)
		synctest.Wait()
		if v, ok := p.ask("hung", func() int { return 3 }); !ok || v != 3 {
			t.Error("it is not asked again")
		}
	})
}

// askers counts the goroutines that a probe began: the Go runtime has others, which come and go.
func askers() (n int) {
	stacks := make([]byte, 8<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "created by github.com/kubeloupe/kubeloupe/agent/stats.(*probes") {
			n++
		}
	}
	return n
}

// slowRuntime responds when a test says so.
type slowRuntime struct {
	*fake
	asked  atomic.Int64
	answer chan struct{}
}

func (s *slowRuntime) ListPodSandboxStats(ctx context.Context, r *runtimeapi.ListPodSandboxStatsRequest, o ...grpc.CallOption) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	s.asked.Add(1)
	select {
	case <-s.answer:
		return s.fake.ListPodSandboxStats(ctx, r, o...)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Concurrent callers get one result; when all of them are gone, the work ends.
func TestOneSummaryAtATime(t *testing.T) {
	s, f := world(t)
	slow := &slowRuntime{fake: f, answer: make(chan struct{})}
	s.cfg.Runtime = slow
	ctx, goAway := context.WithCancel(t.Context())
	var all sync.WaitGroup
	ask := func(ctx context.Context, want error) {
		all.Go(func() {
			if _, err := s.Summary(ctx, false); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		})
	}
	for range 100 {
		ask(ctx, context.Canceled)
	}
	for {
		s.full.mu.Lock()
		ready := s.full.now != nil && s.full.now.waiting == 100
		s.full.mu.Unlock()
		if ready && slow.asked.Load() == 1 {
			break
		}
		runtime.Gosched()
	}
	work := s.full.now
	goAway()
	all.Wait()
	<-work.done // it ends with the last caller
	for range 10 {
		ask(t.Context(), nil)
	}
	close(slow.answer)
	all.Wait()
	if n := slow.asked.Load(); n > 11 {
		t.Errorf("the runtime was asked %d times", n)
	}
}

// Directories that a container can create are counted: many names, many names of one file, and depth.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	const wide = 20000
	file := filepath.Join(dir, "0")
	if err := os.WriteFile(file, make([]byte, 40960), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range wide {
		if err := os.Symlink("/", filepath.Join(dir, fmt.Sprintf("%0200d", i+1))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 9 {
		if err := os.Link(file, filepath.Join(dir, fmt.Sprint("name", i))); err != nil {
			t.Fatal(err)
		}
	}
	h := walk(t.Context(), dir)
	if want := uint64(wide + 2); h.inodes != want {
		t.Errorf("%d inodes, want %d", h.inodes, want)
	}
	if h.bytes < 40960 || h.bytes > 40960+wide*4096+4<<20 {
		t.Errorf("%d bytes", h.bytes)
	}
	if deep := walkDeep(t); deep.inodes != 2*maxDepth+1 {
		t.Errorf("%d inodes of the deep one", deep.inodes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if h := walk(ctx, dir); h.inodes > namesAtOnce {
		t.Errorf("%d inodes after the end", h.inodes)
	}
}

// walkDeep walks nested directories, deeper than the maximum length of a path.
func walkDeep(t *testing.T) held {
	t.Helper()
	top := t.TempDir()
	root, err := os.OpenRoot(top)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * maxDepth {
		if err := root.Mkdir("a-name-of-some-length", 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := root.OpenRoot("a-name-of-some-length")
		if err != nil {
			t.Fatal(err)
		}
		if err := root.Close(); err != nil {
			t.Fatal(err)
		}
		root = next
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	return walk(t.Context(), top)
}

// nest makes a directory of some levels: in each, a file of 8 KiB, and three directories, of which one has the next level, and the others a file.
func nest(t *testing.T, top string, levels int) {
	t.Helper()
	at, err := unix.Open(top, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string) error {
		fd, err := unix.Openat(at, name, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		_, err = unix.Write(fd, make([]byte, 8192))
		return errors.Join(err, unix.Close(fd))
	}
	for range levels {
		for _, err := range []error{
			unix.Mkdirat(at, "a", 0o700), unix.Mkdirat(at, "m", 0o700), unix.Mkdirat(at, "z", 0o700), write("file"), write("a/file"), write("z/file"),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		next, err := unix.Openat(at, "m", unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(at)
		at = next
	}
	_ = unix.Close(at)
}

// What lies deeper than the directories that walk has open is counted, too: a container could hide what it uses there from its limits.
func TestWalkBelow(t *testing.T) {
	dir := t.TempDir()
	const levels = 3 * maxDepth
	nest(t, dir, levels)
	h := walk(t.Context(), dir)
	if want := uint64(1 + 6*levels); h.inodes != want || h.bytes < levels*3*8192 {
		t.Errorf("%d inodes and %d bytes, want %d and at least %d", h.inodes, h.bytes, want, levels*3*8192)
	}
}

// A walk below the limit of levels ends.
func TestWalkLevels(t *testing.T) {
	dir := t.TempDir()
	nest(t, dir, 10)
	top, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Statx_t
	if err := statx(int(top.Fd()), "", &st); err != nil {
		t.Fatal(err)
	}
	w := walker{major: st.Dev_major, minor: st.Dev_minor, levels: 4}
	w.deep(t.Context(), top)
	if want := 4*4 + 3*2; w.inodes != float64(want) || w.pending != 0 { // four entries of each level, and the files in two of them but for the last
		t.Errorf("%v inodes, want %d; %d names wait", w.inodes, want, w.pending)
	}
}

// Containers move directories while they are counted.
func TestWalkMoves(t *testing.T) {
	dir := t.TempDir()
	nest(t, dir, maxDepth+8)
	deepest, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range maxDepth + 4 {
		next := enter(deepest, "m")
		_ = deepest.Close()
		if deepest = next; next == nil {
			t.Fatal("the tree is not as deep")
		}
	}
	defer deepest.Close()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		fd := int(deepest.Fd())
		for from, to := "m/m", "z/m"; ; from, to = to, from {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat(fd, from, fd, to)
			}
		}
	}()
	before := openNow(t)
	for range 30 {
		if h := walk(t.Context(), dir); h.inodes < 6*maxDepth || h.inodes > 1+7*(maxDepth+8) {
			t.Fatalf("%d inodes", h.inodes)
		}
	}
	close(stop)
	<-done
	if n := openNow(t); n > before+10 {
		t.Errorf("%d open files, %d before", n, before)
	}
}

func openNow(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
