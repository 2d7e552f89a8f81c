package shutdown

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// The state file is upstream's, in both directions.
func TestStateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), StateFile)
	rec := tracetest.New(t)
	m := &Manager{cfg: Config{StateFile: path, Bus: rec.Bus()}}
	m.tellLast() // there is none
	began := time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)
	m.remember(began, time.Time{})
	m.tellLast()
	m.remember(began, began.Add(12*time.Second))
	m.tellLast()
	text, err := os.ReadFile(path)
	if want := `{"startTime":"2026-11-26T20:00:00Z","endTime":"2026-11-26T20:00:12Z"}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	got := tracetest.Events[trace.Shutdown](rec)
	if len(got) != 2 || got[0].State != trace.ShutdownLast || !got[0].Started.Equal(began) || !got[0].Ended.IsZero() || got[1].Ended.Sub(began) != 12*time.Second {
		t.Errorf("%+v", got)
	}
	for content, want := range map[string]string{
		`{"startTime":"2024-02-03T04:05:06.789+01:00","endTime":"0001-01-01T00:00:00Z"}`: "",
		`{}`: "", "": "unexpected end", "no": "invalid character", strings.Repeat("x", 1<<20): "larger than",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		before := len(tracetest.Events[trace.Log](rec))
		m.tellLast()
		logs := tracetest.Events[trace.Log](rec)[before:]
		if (want == "") != (len(logs) == 0) || len(logs) > 0 && !strings.Contains(logs[0].Attrs[0].V, want) {
			t.Errorf("%.40q: %+v, want %q", content, logs, want)
		}
	}
	if got := tracetest.Events[trace.Shutdown](rec); len(got) != 3 {
		t.Errorf("%+v, want one more", got)
	}
}

// What cannot be written is a warning: the pods terminate all the same.
func TestStateFileNotWritten(t *testing.T) {
	rec := tracetest.New(t)
	m := &Manager{cfg: Config{StateFile: filepath.Join(t.TempDir(), "none", StateFile), Bus: rec.Bus()}}
	m.remember(time.Now(), time.Time{})
	if logs := tracetest.Events[trace.Log](rec); len(logs) != 1 || logs[0].Level != trace.LevelWarn {
		t.Errorf("%+v", logs)
	}
}
