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

// TestRaised raises the kubelet's verbosity and kills attach: it is put back.
func TestRaised(t *testing.T) {
	b := setup(t)
	a := b.attach(t, "--raise-verbosity", "5", "--for", "5m", "--kubelet-kubeconfig", b.Kubeconfig)
	lines := func() int {
		text, err := os.ReadFile(b.kubelet.LogFile)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte(fifth))
	}
	eventually(t, "lines of V5", func() string {
		if lines() == 0 {
			return "there are none: " + a.said()
		}
		return ""
	})
	a.Process.Kill() // Wait tells
	<-a.done
	before := lines()
	eventually(t, "no more lines of V5", func() string {
		time.Sleep(3 * time.Second) // three relists
		if now := lines(); now != before {
			before = now
			return "there are more of them"
		}
		return ""
	})
	if text := b.settings(t); !strings.Contains(text, `"verbosity":4`) {
		t.Errorf("the settings are %s", text)
	}
}
