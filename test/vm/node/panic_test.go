package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCrashed(t *testing.T) {
	m := &Machine{Console: filepath.Join(t.TempDir(), "console")}
	write := func(text string) {
		if err := os.WriteFile(m.Console, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[    0.0] Linux version 6.12\nvm login: ")
	if err := m.Crashed(0); err != nil {
		t.Error(err)
	}
	const crash = "[  212.9] RIP: 0010:hash_conntrack_raw+0x41/0x100 [nf_conntrack]\r\n[  212.9] RIP: 0033:0x497369\r\n" +
		"[  212.9] Kernel panic - not syncing: Fatal exception in interrupt\r\n"
	write("[    0.0] Linux version 6.12\r\n" + crash + "[    0.0] Linux version 6.12\r\n")
	if err := m.Crashed(0); err == nil || !strings.Contains(err.Error(), "RIP: 0010:hash_conntrack_raw+0x41/0x100 [nf_conntrack] (see ") {
		t.Error(err)
	}
	if n, _, err := m.Panics(); n != 1 || err != nil {
		t.Error(n, err)
	}
	if err := m.Crashed(1); err != nil {
		t.Errorf("an earlier one: %v", err)
	}
}
