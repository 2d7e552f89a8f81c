package replay

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

var update = flag.Bool("update", false, "accept what the scripts do now")

// TestScripts runs testdata/*.txt; see the header of each.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { runScript(t, f) })
	}
}

func runScript(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var got output
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t, path: filepath.Join(dir, "rec"), out: &got}
		defer s.stop()
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "  ") { // what was expected
				continue
			}
			fmt.Fprintln(&got, line)
			if line != "" && line[0] != '#' {
				s.do(strings.Fields(line))
			}
		}
	})
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), got.String()); diff != "" {
		t.Errorf("(-want +got, -update accepts it):\n%s", diff)
	}
}

// output is written to by the script and by whoever reads the player.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// script plays one recording in a bubble, in which time begins at 2000-01-01.
type script struct {
	t      *testing.T
	path   string
	out    *output
	cfg    Config
	rd     *recording.Reader
	p      *Player
	cancel context.CancelFunc
	done   chan struct{}
	wall   time.Time
}

// epoch is time zero of a script's records.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(text string) time.Time {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return epoch.Add(d)
}

func (s *script) do(f []string) {
	switch cmd, args := f[0], f[1:]; cmd {
	case "session":
		s.session(args)
	case "set":
		s.set(args)
	case "mark":
		s.cfg.Marks = append(s.cfg.Marks, Mark{Time: at(args[0]), Label: args[1]})
	case "play":
		s.play()
	case "wait":
		d, err := time.ParseDuration(args[0])
		if err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(d)
	default:
		s.control(cmd, args)
	}
	synctest.Wait()
}

func (s *script) control(cmd string, args []string) {
	var n int
	var speed float64
	switch cmd {
	case "pause":
		s.p.Pause(true)
	case "go":
		s.p.Pause(false)
	case "step":
		fmt.Sscan(args[0], &n)
		s.p.Step(n)
	case "line":
		s.p.StepLine()
	case "speed":
		if args[0] == "max" {
			speed = Max
		} else {
			fmt.Sscan(args[0], &speed)
		}
		s.p.SetSpeed(speed)
	case "seek":
		s.p.Seek(at(args[0]))
	case "seq":
		fmt.Sscan(args[0], &n)
		s.p.SeekSeq(uint64(n))
	case "next":
		s.marked(s.p.NextMark)
	case "prev":
		s.marked(s.p.PrevMark)
	case "state":
		s.say("%s", show(s.p.State()))
	default:
		s.t.Fatalf("unknown command %s", cmd)
	}
}

// marked jumps and says where, before any of what comes then.
func (s *script) marked(jump func() (Mark, bool)) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	m, ok := jump()
	fmt.Fprintf(&s.out.text, "  %v: mark %q %t\n", time.Since(s.wall), m.Label, ok)
}

func show(st State) string {
	var b strings.Builder
	for _, f := range []struct {
		name string
		on   bool
	}{{"playing", st.Playing}, {"end", st.AtEnd}, {"jumping", st.Jumping}} {
		if f.on {
			fmt.Fprintf(&b, "%s ", f.name)
		}
	}
	fmt.Fprintf(&b, "x%v at %v of %v..%v, %d of %d", st.Speed, st.At.Sub(epoch), st.First.Sub(epoch), st.Last.Sub(epoch), st.Records, st.Of)
	if st.Skipped > 0 {
		fmt.Fprintf(&b, ", will leave out %v", st.Skipped)
	}
	if st.Shortened > 0 {
		fmt.Fprintf(&b, ", left out %v", st.Shortened)
	}
	if st.Sessions > 1 {
		fmt.Fprintf(&b, ", session %d of %d", st.Session+1, st.Sessions)
	}
	if st.Mark != "" {
		fmt.Fprintf(&b, ", mark %s", st.Mark)
	}
	return b.String()
}

// session records points at the times given; "-" before a number is a loss.
func (s *script) session(args []string) {
	w, err := recording.Create(s.path, recording.Options{Node: "n1"})
	if err != nil {
		s.t.Fatal(err)
	}
	var lost uint64
	for i, a := range args {
		if strings.HasPrefix(a, "-") {
			fmt.Sscan(a[1:], &lost)
			continue
		}
		when := time.Now().Add(-time.Hour)
		if a != "earlier" {
			when = at(a)
		}
		level := "info"
		if i%3 == 2 {
			level = "warn"
		}
		rec := trace.Record{Seq: uint64(i + 1), Time: when.UnixNano(), Event: &trace.Log{Level: trace.LogLevel(level), Message: a}}
		if err := w.Write([]trace.Record{rec}, lost); err != nil {
			s.t.Fatal(err)
		}
		lost = 0
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *script) set(args []string) {
	switch args[0] {
	case "paused":
		s.cfg.Paused = true
	case "realtime":
		s.cfg.RealTime = true
	case "once":
		s.cfg.Once = true
	case "warnings":
		s.cfg.Line = func(r *trace.Record) bool { return r.Event.(*trace.Log).Level == trace.LevelWarn }
	}
}

func (s *script) play() {
	var err error
	if s.rd, err = recording.Open(s.path); err != nil {
		s.t.Fatal(err)
	}
	s.p = NewPlayer(s.rd, s.cfg)
	ctx, cancel := context.WithCancel(s.t.Context())
	s.cancel, s.done, s.wall = cancel, make(chan struct{}), time.Now()
	go func() {
		defer close(s.done)
		buf := make([]trace.Record, 0, 64)
		for {
			recs, lost, err := s.p.Next(ctx, buf)
			if ctx.Err() != nil {
				return
			}
			s.tell(recs, lost, err)
			if err != nil && !errors.Is(err, ErrRewound) {
				return
			}
		}
	}()
}

func (s *script) tell(recs []trace.Record, lost uint64, err error) {
	var what []string
	if lost > 0 {
		what = append(what, fmt.Sprintf("lost %d", lost))
	}
	for _, r := range recs {
		what = append(what, r.Event.(*trace.Log).Message)
	}
	if err != nil {
		what = append(what, err.Error())
	}
	s.say("%s", strings.Join(what, " "))
}

func (s *script) say(format string, args ...any) {
	fmt.Fprintf(s.out, "  %v: %s\n", time.Since(s.wall), fmt.Sprintf(format, args...))
}

func (s *script) stop() {
	s.cancel()
	<-s.done
	s.rd.Close()
}
