package logfile_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
)

// pauses is a log that comes in pieces, with a pause after each.
type pauses struct {
	pieces []string
	idle   bool
}

func (p *pauses) Read(b []byte) (int, error) {
	if p.idle {
		p.idle = false
		return 0, logfile.ErrIdle
	}
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; p.pieces[0] == "" {
		p.pieces, p.idle = p.pieces[1:], true
	}
	return n, nil
}

// TestIdle reads logs that pause: what was written in whole comes at once, and lines and fields of which the end is not written yet are not
// torn, wherever the pause is.
func TestIdle(t *testing.T) {
	multi := "I0917 10:01:34.875534    2310 a.go:245] \"multi\" patch=<\n\tx\n\ty\n >"
	entry := exported("__CURSOR", "a", "__REALTIME_TIMESTAMP", "1789639294875534", "SYSLOG_IDENTIFIER", "kubelet", "X", "a\n\nb", "MESSAGE", one)
	for name, tc := range map[string]struct {
		text   string
		export bool
		want   []string
	}{
		"lines":  {one + "\n" + two + "\n", false, []string{"one", "two"}},
		"cri":    {"2026-09-17T10:01:34.9Z stderr P " + one[:30] + "\n2026-09-17T10:01:34.9Z stderr F " + one[30:] + "\n", false, []string{"one"}},
		"export": {entry + entry, true, []string{"one", "one"}},
	} {
		for at := range len(tc.text) {
			r, err := logfile.NewReader(&pauses{pieces: []string{tc.text[:at], tc.text[at:]}}, logfile.Options{Latest: latest, Zone: time.UTC, Export: tc.export})
			if err != nil {
				t.Fatal(err)
			}
			if got := messages(t, r); !cmp.Equal(got, tc.want) {
				t.Fatalf("%s: a pause after %q: %s", name, tc.text[max(0, at-20):at], cmp.Diff(tc.want, got))
			}
		}
	}
	r, err := logfile.NewReader(&pauses{pieces: []string{one + "\n", multi + "\n", two + "\n"}}, logfile.Options{Latest: latest})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for {
		it, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			got += " " + it.Entry.Msg
		}
	}
	if got != " one multi two" {
		t.Errorf("got %q", strings.TrimSpace(got))
	}
}

func messages(t *testing.T, r *logfile.Reader) (out []string) {
	t.Helper()
	for {
		it, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out
		case errors.Is(err, logfile.ErrIdle):
		case err != nil:
			t.Fatal(err)
		default:
			out = append(out, it.Entry.Msg)
		}
	}
}
