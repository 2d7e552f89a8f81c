package attach

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// fifth is what only V5 writes, each second.
const fifth = `"GenericPLEG: Relisting"`

// raised counts the lines that only a raised verbosity has written.
func (b *bench) raised(t *testing.T) int {
	t.Helper()
	return b.lines(t, fifth)
}

// lines counts the lines of the kubelet's log that have a text.
func (b *bench) lines(t *testing.T, with string) int {
	t.Helper()
	text, err := os.ReadFile(b.kubelet.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte(with))
}

// putBack waits until the kubelet's verbosity is what it was.
func (b *bench) putBack(t *testing.T) {
	t.Helper()
	before := b.raised(t)
	eventually(t, "no more lines of V5", func() string {
		time.Sleep(3 * time.Second) // three relists
		if now := b.raised(t); now != before {
			before = now
			return "there are more of them"
		}
		return ""
	})
	if text := b.settings(t); !strings.Contains(text, `"verbosity":4`) {
		t.Errorf("the settings are %s", text)
	}
}

// raise are the arguments by which attach raises the verbosity.
func (b *bench) raise() []string {
	return []string{"--raise-verbosity", "5", "--for", "5m", "--kubelet-kubeconfig", b.Kubeconfig}
}

// TestRaised raises the kubelet's verbosity and kills attach: it is put back.
func TestRaised(t *testing.T) {
	b := setup(t)
	a := b.attach(t, b.raise()...)
	before := b.raised(t)
	eventually(t, "lines of V5", func() string {
		if b.raised(t) == before {
			return "there are none: " + a.said()
		}
		return ""
	})
	a.Process.Kill() // Wait tells
	<-a.done
	b.putBack(t)
}
