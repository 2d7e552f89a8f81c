package gc

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlanImages(t *testing.T) {
	now := time.Unix(100_000, 0)
	old := now.Add(-time.Hour)
	img := func(id string, size int64, lastUsed time.Duration) Image {
		i := Image{ID: id, Size: size, FirstSeen: old}
		if lastUsed > 0 {
			i.LastUsed = now.Add(-lastUsed)
		}
		return i
	}
	with := func(i Image, change func(*Image)) Image { change(&i); return i }
	used := func(i *Image) { i.Used, i.LastUsed = true, now }
	pinned := func(i *Image) { i.Pinned = true }

	tests := map[string]struct {
		in   ImageInputs
		want []string
		why  string // of all removals
	}{
		"below the mark": {
			in:   ImageInputs{FS: FS{1000, 151}, Images: []Image{img("a", 100, time.Minute)}},
			want: []string{"keep a: the file system is 85% full, below 86%"},
		},
		"least recently used first, until enough": {
			in: ImageInputs{FS: FS{1000, 100}, Images: []Image{ // 100 must be removed
				img("new", 60, time.Minute), img("mid", 60, time.Hour), img("never", 40, 0), img("old", 59, 2*time.Hour),
			}},
			why: "space",
			want: []string{
				"remove never: the file system is 90% full and must be reduced to 80%; it has been unused for 1h0m0s",
				"remove old: the file system is 90% full and must be reduced to 80%; it has been unused for 1h0m0s",
				"remove mid: the file system is 90% full and must be reduced to 80%; it has been unused for 1h0m0s",
				"keep new: images unused for longer free enough to reach 80%",
			},
		},
		"never those in use, pinned, young or stubborn": {
			in: ImageInputs{FS: FS{1000, 100}, Images: []Image{
				with(img("used", 500, 0), used), with(img("pinned", 500, 0), pinned),
				with(img("young", 500, 0), func(i *Image) { i.FirstSeen = now.Add(-2*time.Minute + 1) }),
				with(img("stuck", 500, 0), func(i *Image) { i.Failed = "busy" }),
				img("last", 500, time.Second),
			}},
			why: "space",
			want: []string{
				"keep pinned: the runtime pins it",
				"keep stuck: it could not be removed: busy",
				"keep young: it was first seen 1m59s ago, less than 2m0s",
				"remove last: the file system is 90% full and must be reduced to 80%; it has been unused for 1s",
				"keep used: a container uses it",
			},
		},
		"all unused on demand": {
			in: ImageInputs{All: true, FS: FS{1000, 900}, Images: []Image{
				img("a", 1, time.Minute), with(img("used", 1, 0), used), with(img("young", 1, 0), func(i *Image) { i.FirstSeen = now }),
			}},
			why: "unused",
			want: []string{
				"keep young: it was first seen 0s ago, less than 2m0s",
				"remove a: the removal of unused images was requested",
				"keep used: a container uses it",
			},
		},
		"too old, whatever the usage": {
			in: ImageInputs{
				FS: FS{1000, 900}, Policy: ImagePolicy{High: 85, Low: 80, MaxAge: 30 * time.Minute}, Watched: 31 * time.Minute,
				Images: []Image{img("never", 1, 0), img("old", 1, 31*time.Minute), img("fresh", 1, 30*time.Minute), with(img("used", 1, 0), used)},
			},
			why: "age",
			want: []string{
				"remove never: it has been unused for 1h0m0s, longer than 30m0s",
				"remove old: it has been unused for 31m0s, longer than 30m0s",
				"keep fresh: the file system is 10% full, below 85%",
				"keep used: a container uses it",
			},
		},
		"age counts from the agent's start": {
			in: ImageInputs{
				FS: FS{1000, 900}, Policy: ImagePolicy{High: 85, Low: 80, MaxAge: 30 * time.Minute}, Watched: 30 * time.Minute,
				Images: []Image{img("never", 1, 0)},
			},
			want: []string{"keep never: the file system is 10% full, below 85%"},
		},
		"what is too old counts towards the need": {
			in: ImageInputs{
				FS: FS{1000, 100}, Policy: ImagePolicy{High: 85, Low: 80, MaxAge: 30 * time.Minute}, Watched: time.Hour,
				Images: []Image{img("old", 100, 31*time.Minute), img("fresh", 100, time.Minute)},
			},
			why: "age",
			want: []string{
				"remove old: it has been unused for 31m0s, longer than 30m0s",
				"keep fresh: images unused for longer free enough to reach 80%",
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.in.Now = now
			if tt.in.Policy == (ImagePolicy{}) {
				tt.in.Policy = ImagePolicy{High: 86, Low: 80, MinAge: 2 * time.Minute}
			}
			verdicts := PlanImages(tt.in)
			if d := cmp.Diff(tt.want, render(verdicts)); d != "" {
				t.Error(d)
			}
			for _, v := range verdicts {
				if got := v.Ground != "" && string(v.Ground) == tt.why; got != v.Remove {
					t.Errorf("%s: ground %q, want %q for removals only", v.ID, v.Ground, tt.why)
				}
			}
		})
	}
}

func TestSizeText(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1<<20 - 1: "1024.0 KiB", 1 << 20: "1.0 MiB", 50 << 30: "50.0 GiB", 1536 << 30: "1.5 TiB", 2 << 50: "2048.0 TiB",
	} {
		if got := sizeText(bytes); got != want {
			t.Errorf("%d: %q, want %q", bytes, got, want)
		}
	}
}

func TestUsed(t *testing.T) {
	for _, tt := range []struct {
		fs   FS
		want int
	}{{FS{0, 0}, 0}, {FS{100, 0}, 100}, {FS{100, 100}, 0}, {FS{100, 120}, 0}, {FS{1000, 149}, 86}, {FS{1 << 62, 1 << 60}, 75}} {
		if got := tt.fs.Used(); got != tt.want {
			t.Errorf("%+v: %d%%, want %d%%", tt.fs, got, tt.want)
		}
	}
}
