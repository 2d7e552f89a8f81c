package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/inspect/replay"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// moments are times in the recordings of test/recordings, from the first record on;
// zero is the end.
var moments = []struct {
	recording, name string
	at              time.Duration
}{
	{"standalone", "pulling", 8 * time.Second},
	{"standalone", "outage", 25 * time.Second},
	{"standalone", "later", 33 * time.Second},
	{"standalone", "end", 0},
	{"cluster", "starting", 6600 * time.Millisecond},
	{"cluster", "outage", 27 * time.Second},
	{"cluster", "end", 0},
	{"sim", "pulling", 3 * time.Second},
	{"sim", "end", 0},
}

// TestRecorded draws every view, and every pod, from real recordings, at moments in
// them and at all sizes. What it reads was made by the version of its day: that it
// opens is a test, too.
func TestRecorded(t *testing.T) {
	for _, m := range moments {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%s-%dx%d", m.recording, m.name, size[0], size[1])
			bubble(t, name, func(t *testing.T) {
				d := atMoment(t, m.recording, m.at, size)
				var all strings.Builder
				shoot := func(what string) {
					fmt.Fprintf(&all, "######## %s\n%s", what, d.screen())
					within(t, d.screen(), size[0], size[1])
				}
				for i, name := range ViewNames() {
					d.keys("esc " + d.app.tabs[i].digit)
					shoot(name)
				}
				for _, p := range d.app.model.Pods() {
					d.send(views.OpenPod{Pod: p.Key})
					shoot("pod " + p.Key.String())
				}
				golden(t, filepath.Join("recorded", name), all.String())
			})
		}
	}
}

// atMoment is an app that replays a recording and is paused at a moment of it.
func atMoment(t *testing.T, name string, at time.Duration, size [2]int) *driver {
	t.Helper()
	rd, err := recording.Open(filepath.Join("testdata", "recordings", name+".klr"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rd.Close() })
	info := rd.Info()
	p := replay.NewPlayer(rd, replay.Config{Paused: true})
	p.Seek(info.Last)
	if at > 0 {
		p.Seek(info.First.Add(at))
	}
	d := drive(t, Config{Player: p, Now: p.Now}, size[0], size[1])
	ctx, cancel := context.WithCancel(t.Context())
	pump := newPump(p)
	go pump.run(ctx)
	for {
		synctest.Wait()
		msg := pump.take()
		if len(msg.chunks) == 0 && msg.err == nil {
			break
		}
		d.app.absorb(msg)
	}
	cancel()
	pump.wait(time.Second)
	d.app.setNow()
	d.app.refresh()
	return d
}
