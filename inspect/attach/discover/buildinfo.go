package discover

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"runtime/debug"
)

// errNoBuildInfo says that a file is not a Go program, or one whose modules are not noted.
var errNoBuildInfo = errors.New("the file has no build information of Go")

const (
	// infoMagic begins the build information of a Go program, infoHeader is the length of its header in bytes, and infoInline the flag that both texts
	// follow the header, as since Go 1.18.
	infoMagic  = "\xff Go buildinf:"
	infoHeader = 32
	infoFlags  = 15
	infoInline = 2
	// infoFrame is the length of what is before and after the list of modules, in bytes.
	infoFrame = 16
	// maxInfo limits the build information, in bytes. Those of kubelets and of containerd have less than 64 KiB.
	maxInfo = 1 << 20
)

// buildInfo reads what Go's linker noted in an ELF program.
//
// It does what debug/buildinfo does, which also links the readers of five other formats.
func buildInfo(r io.ReaderAt) (*debug.BuildInfo, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, err
	}
	s := f.Section(".go.buildinfo")
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil, errNoBuildInfo
	}
	text, err := io.ReadAll(io.LimitReader(s.Open(), maxInfo))
	if err != nil {
		return nil, err
	}
	return parseBuildInfo(text)
}

// parseBuildInfo reads the section of the build information.
func parseBuildInfo(text []byte) (*debug.BuildInfo, error) {
	if len(text) < infoHeader || !bytes.HasPrefix(text, []byte(infoMagic)) || text[infoFlags]&infoInline == 0 {
		return nil, errNoBuildInfo
	}
	_, text, ok := counted(text[infoHeader:]) // the version of Go
	modules, _, good := counted(text)
	if !ok || !good || len(modules) <= 2*infoFrame {
		return nil, errNoBuildInfo
	}
	return debug.ParseBuildInfo(string(modules[infoFrame : len(modules)-infoFrame]))
}

// counted returns a text that begins with its length, and what follows it.
func counted(b []byte) (text, rest []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return nil, nil, false
	}
	b = b[used:]
	return b[:n], b[n:], true
}
