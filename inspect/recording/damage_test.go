package recording

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// frames returns a recording of some frames, and the position of each.
func frames(t testing.TB, n int) (p string, data []byte, heads []int64) {
	t.Helper()
	p = path(t)
	write(t, p, Options{}, busy(n, later, 1))
	data, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	ix, err := indexFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range ix.frames {
		heads = append(heads, f.off-headLen)
	}
	if len(heads) < 4 {
		t.Fatalf("%d frames", len(heads))
	}
	return p, data, heads
}

// TestTorn truncates a recording at many positions.
func TestTorn(t *testing.T) {
	p, data, heads := frames(t, 3000)
	end := int64(len(data))
	for _, at := range []int64{heads[0] + 1, heads[1] + headLen - 1, heads[1] + headLen, heads[2] - 1, heads[2], heads[3] + 200, end - 1, end} {
		if err := os.WriteFile(p, data[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		items, info := read(t, p)
		want := 0
		whole := at == end
		for i, h := range heads {
			next := end
			if i+1 < len(heads) {
				next = heads[i+1]
			}
			if at >= next {
				want++
			}
			whole = whole || at == h
		}
		got := 0
		for got < len(heads) && len(items) > 0 && uint64(len(items)) >= lastSeqOf(t, data, got) {
			got++
		}
		if got != want || info.Torn == whole || lostOf(items) != 0 {
			t.Errorf("cut at %d: %d frames, want %d; torn %t, want %t", at, got, want, info.Torn, !whole)
		}
	}
	zeros := append(bytes.Clone(data[:heads[3]+headLen+100]), make([]byte, 5000)...) // as a file system may leave it after a crash
	if err := os.WriteFile(p, zeros, 0o600); err != nil {
		t.Fatal(err)
	}
	if items, info := read(t, p); !info.Torn || uint64(len(items)) != lastSeqOf(t, data, 2) {
		t.Errorf("%d records, %+v", len(items), info)
	}
	write(t, p, Options{}, busy(5, later.Add(time.Hour), 1)) // the next session cuts the incomplete frame off
	if items, info := read(t, p); info.Torn || info.Skipped == 0 || uint64(len(items)) != lastSeqOf(t, data, 2)+5 {
		t.Errorf("%d records, %+v", len(items), info)
	}
}

func lastSeqOf(t testing.TB, data []byte, frame int) uint64 {
	ix, err := indexFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return ix.frames[frame].lastSeq
}

// TestDamage: damaged parts in the middle are skipped, and the number of lost records is reported.
func TestDamage(t *testing.T) {
	p, data, heads := frames(t, 3000)
	for name, at := range map[string]int64{"payload": heads[1] + headLen + 50, "head": heads[1] + 10, "magic": heads[1], "length": heads[1] + 9} {
		bad := bytes.Clone(data)
		bad[at] ^= 0x40
		if err := os.WriteFile(p, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		took := lastSeqOf(t, data, 1) - lastSeqOf(t, data, 0)
		items, info := read(t, p)
		if uint64(len(items))+took != 3000 || lostOf(items) != took || info.Skipped != took || len(info.Damage) != 1 || info.Torn {
			t.Errorf("%s: %d records, %d lost, want %d; %+v", name, len(items), lostOf(items), took, info)
		}
	}
}

// TestDamageIsToldOnce: a second read does not count damage again.
func TestDamageIsToldOnce(t *testing.T) {
	p, data, heads := frames(t, 3000)
	data[heads[1]+headLen+50] ^= 1
	if err := os.WriteFile(p, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all(t, r)
	before := r.Info()
	all(t, r)
	if after := r.Info(); after.Skipped != before.Skipped || len(after.Damage) != 1 {
		t.Errorf("%+v, then %+v", before, after)
	}
}

func FuzzReader(f *testing.F) {
	p := path(f)
	for i := range 3 { // sessions of one frame each
		write(f, p, Options{}, busy(12, later, uint64(i*12+1)))
	}
	data, err := os.ReadFile(p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-100])
	f.Add([]byte(`{"seq":1,"time":"2026-03-01T12:00:00.000000001Z","kind":"agent","event":{"state":"ready"}}` + "\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := path(t)
		if err := os.WriteFile(p, data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(p)
		if err == nil {
			n := uint64(0)
			for range r.All() {
				n++
			}
			if info := r.Info(); info.Format == FormatRecording && n > uint64(len(data))*1000 {
				t.Errorf("%d records of %d bytes", n, len(data))
			}
			r.Close()
		}
		if r, err = OpenReader(bytes.NewReader(data)); err == nil {
			for range r.All() {
			}
		}
		if w, err := Create(p, Options{}); err == nil {
			w.Close()
			if _, err := Open(p); err != nil {
				t.Error(err)
			}
		}
	})
}
