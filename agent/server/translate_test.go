package server

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// All sizes are read although nobody takes them; the newest ones wait.
func TestSizesAreRead(t *testing.T) {
	from, to := io.Pipe()
	s := readSizes(from)
	for n := range 4 * maxSizes {
		if _, err := fmt.Fprintf(to, `{"Width":80,"Height":%d}`, n); err != nil {
			t.Fatal(err)
		}
	}
	to.Close()
	var got []int
	for size := s.Next(); size != nil; size = s.Next() {
		got = append(got, int(size.Height))
	}
	if n := len(got); n < maxSizes || n > maxSizes+1 || got[n-1] != 4*maxSizes-1 { // the last one may come while they are taken
		t.Errorf("%v", got)
	}
}

// A size without an end is not kept.
func TestEndlessSize(t *testing.T) {
	const long = 16 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from, to := io.Pipe()
	s := readSizes(from)
	chunk := []byte(strings.Repeat("x", 32<<10))
	_, err := to.Write([]byte(`{"x":"`))
	for n := 0; n < long && err == nil; n += len(chunk) {
		_, err = to.Write(chunk)
	}
	if err != nil {
		t.Fatal(err)
	}
	to.Close()
	if size := s.Next(); size != nil {
		t.Errorf("%v", size)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d bytes were allocated for a size of %d bytes", used, long)
	}
}
