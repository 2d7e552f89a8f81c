package recording

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

const crashFile = "RECORDING_TEST_FILE"

// TestMain is also the process that TestKilled kills.
func TestMain(m *testing.M) {
	if p := os.Getenv(crashFile); p != "" {
		recordForever(p)
	}
	os.Exit(m.Run())
}

func recordForever(p string) {
	w, err := Create(p, Options{})
	for seq := uint64(1); err == nil; seq += 1000 {
		err = w.Write(busy(1000, later, seq), 0)
		fmt.Println(seq)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestKilled: the data that a recorder wrote before it was killed is readable, and another recorder continues.
func TestKilled(t *testing.T) {
	p := path(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashFile+"="+p)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 10 {
		lines.Scan()
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	items, info := read(t, p)
	if len(items) < 8000 || lostOf(items) != 0 || info.Skipped != 0 {
		t.Errorf("%d records, %+v", len(items), info)
	}
	for i := range items {
		if items[i].Rec.Seq != uint64(i+1) {
			t.Fatalf("record %d is number %d", i+1, items[i].Rec.Seq)
		}
	}
	write(t, p, Options{}, busy(10, later, 1))
	if after, info := read(t, p); len(after) != len(items)+10 || info.Sessions != 2 || info.Torn {
		t.Errorf("%d records, %+v", len(after), info)
	}
}
