package replay

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// points is a recording of n records, a millisecond apart.
func points(t testing.TB, n int) *recording.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rec")
	w, err := recording.Create(path, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := trace.Record{Seq: uint64(i + 1), Time: time.Now().Add(time.Duration(i) * time.Millisecond).UnixNano(), Event: &trace.Log{Level: trace.LevelInfo}}
		if err := w.Write([]trace.Record{r}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rd, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rd.Close() })
	return rd
}

// TestControlsFromElsewhere: whatever is pressed, records come in order from the beginning.
func TestControlsFromElsewhere(t *testing.T) {
	rd := points(t, 3000)
	info := rd.Info()
	p := NewPlayer(rd, Config{Speed: Max})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 200 {
			_ = p.State()
			switch i % 5 {
			case 0:
				p.Seek(info.First.Add(time.Duration(i*37%3000) * time.Millisecond))
			case 1:
				p.Pause(i%2 == 0)
			case 2:
				p.Step(i%7 - 3)
			case 3:
				p.SetSpeed(float64(i))
			case 4:
				p.SeekSeq(uint64(i * 11 % 3000))
			}
		}
		p.Pause(false)
		p.SetSpeed(Max)
		p.Seek(info.Last)
	})
	wg.Go(func() {
		var seq uint64
		buf := make([]trace.Record, 0, 64)
		for seq < 3000 {
			recs, lost, err := p.Next(ctx, buf)
			if errors.Is(err, ErrRewound) {
				seq = 0
				continue
			}
			if err != nil || lost != 0 {
				t.Error(err, lost)
				return
			}
			for _, r := range recs {
				if seq++; r.Seq != seq {
					t.Errorf("record %d, want %d", r.Seq, seq)
					return
				}
			}
		}
	})
	wg.Wait()
	cancel()
	if _, _, err := p.Next(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestStream: a stream plays forward only.
func TestStream(t *testing.T) {
	const line = `{"seq":1,"time":"2026-03-01T12:00:00.000000001Z","kind":"log","event":{"level":"info","message":""}}` + "\n"
	rd, err := recording.OpenReader(strings.NewReader(line + strings.Replace(line, `"seq":1`, `"seq":2`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	p := NewPlayer(rd, Config{Speed: Max, Once: true})
	recs, _, err := p.Next(t.Context(), nil)
	if err != nil || len(recs) != 2 {
		t.Errorf("%d %v", len(recs), err)
	}
	p.Seek(time.Unix(0, 0))
	p.Step(-1)
	if _, _, err := p.Next(t.Context(), nil); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if st := p.State(); st.CanRewind || st.Records != 2 {
		t.Errorf("%+v", st)
	}
}
