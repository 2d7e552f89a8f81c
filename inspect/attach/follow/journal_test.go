package follow_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/follow"
	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
)

// journalctl ends after two entries and within a third one, as when journald is started again, and goes on from the cursor.
const journalctl = `#!/bin/sh
echo "$*" >>"$(dirname "$0")/args"
entry() { printf '__CURSOR=%s\n__REALTIME_TIMESTAMP=1789639294875534\nSYSLOG_IDENTIFIER=kubelet\nMESSAGE=I0917 10:01:34.875534    2310 a.go:245] "%s"\n\n' "$1" "$2"; }
case "$*" in
*--after-cursor=s=2*) entry s=3 three; exec sleep 1000;;
*--after-cursor*) echo "no such cursor" >&2; exit 1;;
*) entry s=1 one; entry s=2 two; printf '__CURSOR=s=9\nMESSAGE=cut'; echo 'Failed to get data' >&2; exit 1;;
esac
`

// TestJournal goes on after the last entry when journalctl ends.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "journalctl"), []byte(journalctl), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var said []string
	j, err := follow.OpenJournal(ctx, "kubelet.service", time.Unix(1789639000, 0), func(_ bool, s string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, s)
	})
	must(t, err)
	r, err := logfile.NewReader(j, logfile.Options{Zone: time.UTC, Export: true})
	must(t, err)
	j.Cursor = r.Cursor
	var got []string
	for len(got) < 3 {
		it, err := r.Next()
		switch {
		case errors.Is(err, logfile.ErrIdle):
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, it.Entry.Msg)
		}
	}
	if strings.Join(got, " ") != "one two three" {
		t.Errorf("got %q", got)
	}
	cancel()
	for err = nil; !errors.Is(err, io.EOF); _, err = r.Next() {
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	must(t, err)
	const want = "--follow --output=export --no-pager --quiet --unit=kubelet.service --no-tail --since=@1789639000\n" +
		"--follow --output=export --no-pager --quiet --unit=kubelet.service --no-tail --after-cursor=s=2\n"
	if string(args) != want {
		t.Errorf("journalctl was called with\n%swant\n%s", args, want)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(said) != 1 || !strings.Contains(said[0], "Failed to get data") {
		t.Errorf("said %q", said)
	}
}
