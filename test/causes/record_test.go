package causes_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/recording"
	"github.com/kubeloupe/kubeloupe/trace"
)

// recorded has the node's session in a file of the directory KUBELOUPE_CAUSES_TO when the test ends: test/corpus keeps such.
func recorded(t *testing.T, bus *trace.Bus) {
	t.Helper()
	dir := os.Getenv("KUBELOUPE_CAUSES_TO")
	if dir == "" {
		return
	}
	cursor := bus.Subscribe(trace.FromOldest)
	t.Cleanup(func() { record(t, cursor, filepath.Join(dir, strings.TrimPrefix(t.Name(), "Test")+".klr")) })
}

// record writes what a cursor has to a file, and closes it.
func record(t *testing.T, cursor *trace.Cursor, file string) {
	t.Helper()
	defer cursor.Close()
	w, err := recording.Create(file, recording.Options{Node: "node", Kubeloupe: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if err := w.Run(ended, cursor); err != nil && ended.Err() == nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
