package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"  // apk
	_ "github.com/goreleaser/nfpm/v2/arch" // archlinux
	_ "github.com/goreleaser/nfpm/v2/deb"  // deb
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // rpm
)

// Release is what a package is made of, besides the configuration.
type Release struct {
	Binary  string // the program
	Arch    string // Go's name of the architecture
	Version string // for example 1.2.3 or 1.2.4-snapshot-abcdef0
	Time    time.Time
}

// Build writes a package to dir and returns its path. Sources are relative to the current directory, as for goreleaser.
//
// Upstream: goreleaser, internal/pipe/nfpm/nfpm.go, create.
func Build(n config.NFPM, r Release, format, dir string) (file string, err error) {
	packager, err := nfpm.Get(format)
	if err != nil {
		return "", fmt.Errorf("nfpms[0].formats: %w", err)
	}
	info := nfpm.WithDefaults(describe(n, r))
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return "", fmt.Errorf("%s: %w", format, err)
	}
	file = filepath.Join(dir, packager.ConventionalFileName(info))
	out, err := os.Create(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	info.Target = file
	if err := packager.Package(info, out); err != nil {
		return "", fmt.Errorf("%s: %w", format, err)
	}
	return file, nil
}

func describe(n config.NFPM, r Release) *nfpm.Info {
	return &nfpm.Info{
		Name: n.PackageName, Arch: r.Arch, Platform: "linux", Version: r.Version, Section: n.Section, Priority: n.Priority,
		Maintainer: n.Maintainer, Description: n.Description, Vendor: n.Vendor, Homepage: n.Homepage, License: n.License, MTime: r.Time,
		Overridables: nfpm.Overridables{
			Umask: n.Umask, Recommends: n.Recommends, Contents: contents(n, r),
			Scripts: nfpm.Scripts{
				PreInstall: n.Scripts.PreInstall, PostInstall: n.Scripts.PostInstall,
				PreRemove: n.Scripts.PreRemove, PostRemove: n.Scripts.PostRemove,
			},
			RPM: nfpm.RPM{Group: n.RPM.Group, Summary: n.RPM.Summary, Compression: n.RPM.Compression},
		},
	}
}

func contents(n config.NFPM, r Release) files.Contents {
	out := files.Contents{{
		Source: r.Binary, Destination: path.Join(n.Bindir, "kubeloupe"),
		FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.Time},
	}}
	for _, c := range n.Contents {
		out = append(out, &files.Content{
			Source: c.Source, Destination: c.Destination, Type: c.Type, Packager: c.Packager,
			FileInfo: &files.ContentFileInfo{Owner: c.FileInfo.Owner, Group: c.FileInfo.Group, Mode: c.FileInfo.Mode, MTime: r.Time},
		})
	}
	return out
}
