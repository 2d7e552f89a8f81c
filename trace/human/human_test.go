package human

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{-1, "-"},
		{0, "0ms"},
		{1, "1µs"},
		{412 * time.Microsecond, "412µs"},
		{999499 * time.Nanosecond, "999µs"},
		{999500 * time.Nanosecond, "1ms"},
		{812 * time.Millisecond, "812ms"},
		{999500 * time.Microsecond, "1.00s"},
		{1240 * time.Millisecond, "1.24s"},
		{9995 * time.Millisecond, "10.0s"},
		{59949 * time.Millisecond, "59.9s"},
		{59950 * time.Millisecond, "1m00s"},
		{249 * time.Second, "4m09s"},
		{time.Hour - time.Millisecond, "1h00m"},
		{192 * time.Minute, "3h12m"},
		{24*time.Hour - time.Second, "1d00h"},
		{99 * time.Hour, "4d03h"},
	} {
		if got := Duration(c.d); got != c.want {
			t.Errorf("Duration(%d) = %q, want %q", c.d, got, c.want)
		}
	}
}

func TestBytesAndRate(t *testing.T) {
	for n, want := range map[int64]string{
		-1: "-", 0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 68 << 20: "68 MiB", 1<<30 - 1: "1.0 GiB", 1<<63 - 1: "8.0 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Rate(68<<20, 4*time.Second); got != "17 MiB/s" {
		t.Errorf("Rate = %q", got)
	}
	if got := Rate(1, 0); got != "-" {
		t.Errorf("Rate in no time = %q", got)
	}
}

func TestImage(t *testing.T) {
	for ref, want := range map[string]string{
		"127.0.0.1:25004/kubeloupe/60m:1": "60m:1", "redis": "redis", "registry.k8s.io/pause@sha256:ab": "pause", "@sha256:ab": "sha256:ab", "": "",
	} {
		if got := Image(ref); got != want {
			t.Errorf("Image(%q) = %q, want %q", ref, got, want)
		}
	}
}
