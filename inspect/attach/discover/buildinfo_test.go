package discover

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBuildInfo compares what is read of this test's program with what Go's own package reads.
func TestBuildInfo(t *testing.T) {
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(program, []byte(elf.ELFMAG)) {
		t.Skip("programs of this platform are not ELF files")
	}
	want, err := buildinfo.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want.GoVersion = "" // not a part of the modules' list
	got, err := buildInfo(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got.Settings) == 0 {
		t.Errorf("%d settings; other than debug/buildinfo's (-): %s", len(got.Settings), diff)
	}
}

func TestSpoiltBuildInfo(t *testing.T) {
	const frame = "0123456789abcdef"
	header := infoMagic + "\x08\x02" + string(make([]byte, infoHeader-infoFlags-1))
	for _, c := range []struct{ name, section string }{
		{"empty", ""},
		{"short header", infoMagic},
		{"other magic", "x" + header + "\x01v\x20" + frame + frame},
		{"pointers, as before Go 1.18", infoMagic + "\x08\x00" + string(make([]byte, 64))},
		{"no texts", header},
		{"length without end", header + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
		{"longer than the section", header + "\x01v\xff\xff\xff\xff\x0f"},
		{"frame only", header + "\x01v\x20" + frame + frame},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := parseBuildInfo([]byte(c.section)); err == nil {
				t.Errorf("got %+v", got)
			}
		})
	}
	for _, file := range []string{"", "#!/bin/sh\n", elf.ELFMAG, elf.ELFMAG + "\x02\x01\x01"} {
		if got, err := buildInfo(bytes.NewReader([]byte(file))); err == nil {
			t.Errorf("%q: got %+v", file, got)
		}
	}
}
