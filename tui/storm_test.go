package tui

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/tuitest"
)

// counter counts what is written.
type counter struct{ writes, bytes atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.writes.Add(1)
	c.bytes.Add(int64(len(p)))
	return len(p), nil
}

// silent is an input on which nobody types.
type silent struct{ done <-chan struct{} }

func (s silent) Read([]byte) (int, error) {
	<-s.done
	return 0, io.EOF
}

var xterm = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "SSH_TTY=/dev/pts/9"}

// TestSpareOverSSH: whatever comes and whatever is shown, no more than ten frames and
// 10 KB a second are written.
func TestSpareOverSSH(t *testing.T) {
	some, many := tuitest.Flood(1000, 3), tuitest.Flood(10000, 3)
	for _, c := range []struct {
		view string
		recs []trace.Record
		w, h int
	}{
		{"log", some, 80, 24},
		{"log", some, 200, 50},
		{"log", many, 80, 24},
		{"log", many, 200, 50},
		{"cri", many, 120, 40},
		{"loop", many, 200, 50},
		{"overview", many, 200, 50},
		{"pods", many, 200, 50},
	} {
		bubble(t, fmt.Sprintf("%s %dx%d %d", c.view, c.w, c.h, len(c.recs)), func(t *testing.T) {
			spare(t, Config{Source: tuitest.Play(c.recs, 0), ViewName: c.view, Env: xterm, width: c.w, height: c.h})
		})
	}
}

func spare(t *testing.T, cfg Config) {
	t.Helper()
	const seconds = 2
	ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
	defer cancel()
	var out counter
	cfg.In, cfg.Out = silent{ctx.Done()}, &out
	err := Run(ctx, cfg)
	time.Sleep(time.Minute) // the last tick is over
	if err == nil || ctx.Err() == nil {
		t.Errorf("Run returned %v before its time", err)
	}
	writes, bytes := int(out.writes.Load()), int(out.bytes.Load())
	t.Logf("%d writes, %d bytes in %d s", writes, bytes, seconds)
	if most := seconds*fps + 5; writes > most { // a few to enter and leave
		t.Errorf("%d writes in %d s, want at most %d", writes, seconds, most)
	}
	if most := seconds*bytesPerSecond + burst + 4000; bytes > most { // the last frame may go over
		t.Errorf("%d bytes in %d s, want at most %d", bytes, seconds, most)
	}
	if writes < seconds {
		t.Errorf("%d writes in %d s: the screen hardly moves", writes, seconds)
	}
}

func TestNothingIsLostInAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		recs := tuitest.Flood(5000, 5)
		p := newPump(tuitest.Play(recs, 0))
		go p.run(ctx)
		got, batches := 0, 0
		for {
			msg, ok := p.next(ctx, frame)().(recsMsg)
			if !ok {
				t.Fatal("no message")
			}
			for _, c := range msg.chunks {
				got += len(c.recs)
			}
			batches++
			if msg.err != nil {
				break
			}
		}
		cancel()
		if got != len(recs) {
			t.Errorf("%d records came, want %d", got, len(recs))
		}
		if batches > 5*fps+2 {
			t.Errorf("%d batches in 5 s", batches)
		}
	})
}

// TestRandomKeysAndSizes does what a cat would do.
func TestRandomKeysAndSizes(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) { cat(t, seed) })
	}
}

func cat(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	cfg := Config{Stepper: tuitest.NewSteps()}
	if seed%3 == 0 {
		cfg.Player = &player{}
	}
	d := drive(t, cfg, 80, 24)
	if seed%2 == 0 {
		d.play()
	}
	flood := tuitest.Flood(1000, 1)
	names := strings.Fields("1 2 3 4 5 6 7 8 9 0 j k g G up down pgup pgdown home end enter enter esc tab shift+tab / s space ? m a [ ] n c b p ( . x f S T y M v t { } : , ; < > ~ = - ctrl+l ctrl+w ctrl+u backspace left right")
	for i := range 600 {
		switch r.IntN(12) {
		case 0:
			d.send(tea.WindowSizeMsg{Width: r.IntN(200), Height: r.IntN(60)})
		case 1:
			d.send(tea.MouseClickMsg{X: r.IntN(200), Y: r.IntN(60), Button: tea.MouseLeft})
		case 2:
			d.send(tea.MouseWheelMsg{X: r.IntN(200), Y: r.IntN(60), Button: tea.MouseWheelDown})
		case 3:
			n := r.IntN(len(flood) - 50)
			d.now = d.now.Add(time.Second)
			d.app.absorb(recsMsg{chunks: []chunk{{lost: uint64(r.IntN(2)), recs: flood[n : n+50]}}})
		default:
			d.send(press(names[r.IntN(len(names))]))
		}
		frame := d.app.view()
		w, h := d.app.w, d.app.h
		if w > 0 && h > 0 {
			within(t, plainScreen(frame), w, h)
		}
		if t.Failed() {
			t.Fatalf("seed %d, step %d, %dx%d, page %s", seed, i, w, h, d.app.top().Name())
		}
	}
}

func TestResizeStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := drive(t, Config{}, 80, 24).play()
		for _, tab := range d.app.tabs {
			d.keys(tab.digit)
			for w := 1; w < 160; w += 7 {
				for h := 1; h < 50; h += 5 {
					d.app.update(tea.WindowSizeMsg{Width: w, Height: h})
					within(t, d.screen(), w, h)
				}
			}
			if t.Failed() {
				t.Fatal(tab.page.Name())
			}
		}
	})
}

// BenchmarkUI runs the whole UI over a stream of so many records a second, one
// second an iteration, in real time, on the quietest view and on those that move most.
func BenchmarkUI(b *testing.B) {
	for _, perSecond := range []int{1000, 10000} {
		recs := tuitest.Flood(perSecond, 60)
		for _, view := range []string{"overview", "loop", "cri", "log"} {
			b.Run(fmt.Sprintf("%d/s/%s", perSecond, view), func(b *testing.B) { benchmark(b, recs, view) })
		}
	}
}

func benchmark(b *testing.B, recs []trace.Record, view string) {
	ctx, cancel := context.WithCancel(b.Context())
	var out counter
	ended := make(chan error, 1)
	cfg := Config{
		Source: tuitest.Play(recs, 20*time.Second), In: silent{ctx.Done()}, Out: &out, Env: xterm,
		ViewName: view, width: 120, height: 40,
	}
	go func() { ended <- Run(ctx, cfg) }()
	time.Sleep(2 * time.Second) // what came before is taken in
	from, wrote, frames, start := cpu(b), out.bytes.Load(), out.writes.Load(), time.Now()
	for b.Loop() {
		time.Sleep(time.Second)
	}
	used, wall := cpu(b)-from, time.Since(start).Seconds()
	b.ReportMetric(float64(out.writes.Load()-frames)/wall, "frames/s")
	b.ReportMetric(float64(out.bytes.Load()-wrote)/wall, "bytes/s")
	b.ReportMetric(float64(used)/wall/1e9*100, "%cpu")
	cancel()
	<-ended
}

// cpu is the processor time this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
