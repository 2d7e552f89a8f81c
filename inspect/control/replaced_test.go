package control

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A listener that begins while the one before it ends finds its file gone or in use. The one that ends does not remove the new file.
func TestListenWhileAnotherEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	old, err := listen(path)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 30 {
		var ending sync.WaitGroup
		ending.Go(func() {
			if err := old.close(); err != nil {
				t.Errorf("round %d: the end: %v", round, err)
			}
		})
		next, err := listen(path)
		for ; err != nil; next, err = listen(path) {
			if !strings.Contains(err.Error(), "already listening") {
				t.Fatalf("round %d: %v", round, err)
			}
			time.Sleep(time.Millisecond) // the one that ends needs the lock, too
		}
		ending.Wait()
		if _, err := os.Lstat(path); err != nil {
			t.Fatalf("round %d: the new socket: %v", round, err)
		}
		old = next
	}
	if err := old.close(); err != nil {
		t.Error(err)
	}
}
