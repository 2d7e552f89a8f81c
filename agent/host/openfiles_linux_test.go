package host

import "testing"

func TestOpenFilesLevel(t *testing.T) {
	for _, c := range []struct {
		limit uint64
		asked bool
		want  string
	}{{1 << 20, false, "debug"}, {enoughFiles, false, "debug"}, {enoughFiles - 1, false, "warn"}, {1 << 20, true, "warn"}} {
		if got := openFilesLevel(c.limit, c.asked); string(got) != c.want {
			t.Errorf("limit %d, asked for %v: %s, want %s", c.limit, c.asked, got, c.want)
		}
	}
}
