package discover

import (
	"path"
	"regexp"
	"strings"
)

var (
	// pluginSetting is a setting in a runtime's TOML: containerd's bin_dir and bin_dirs, CRI-O's plugin_dirs and the older plugin_dir.
	pluginSetting = regexp.MustCompile(`(?m)^[ \t]*(?:bin_dirs?|plugin_dirs?)[ \t]*=[ \t]*(\[[^\]]*\]|"[^"\n]*"|'[^'\n]*')`)
	quoted        = regexp.MustCompile(`"([^"\n]+)"|'([^'\n]+)'`)
	section       = regexp.MustCompile(`(?m)^[ \t]*\[[^\]\n]*\]+[ \t]*(?:#.*)?$`)
)

// maxPluginDirs bounds the directories of CNI plugins.
const maxPluginDirs = 16

// cniDirs are the directories of CNI plugins of a runtime, as it sees them: by its configuration, which root writes, else those that are its
// defaults.
func cniDirs(v View, p *Process, name string) (dirs []string) {
	var files []string
	defaults := []string{"/opt/cni/bin"}
	config := argument(p.Args, "--config", "-c")
	switch name {
	case "cri-o":
		files = []string{or(config, "/etc/crio/crio.conf")}
		files = append(files, tomlFiles(v, p, or(argument(p.Args, "--config-dir", "-d"), "/etc/crio/crio.conf.d"), ".conf")...)
		defaults = []string{"/opt/cni/bin", "/usr/libexec/cni"}
	default:
		files = []string{or(config, "/etc/containerd/config.toml")}
		files = append(files, tomlFiles(v, p, "/etc/containerd/conf.d", ".toml")...)
	}
	for _, file := range files {
		b, err := readWithin(v, p.root(), file)
		if err != nil {
			continue
		}
		if found := dirsIn(string(b)); len(found) > 0 { // a later file replaces what an earlier one says
			dirs = found
		}
	}
	if len(dirs) == 0 {
		dirs = defaults
	}
	return dirs[:min(len(dirs), maxPluginDirs)]
}

// dirsIn are the directories that sections of CNI name in a runtime's TOML.
func dirsIn(text string) (dirs []string) {
	sections := section.FindAllStringIndex(text, -1)
	for _, at := range pluginSetting.FindAllStringSubmatchIndex(text, -1) {
		head := ""
		for _, s := range sections {
			if s[0] <= at[0] {
				head = text[s[0]:s[1]]
			}
		}
		if !strings.Contains(head, ".cni]") && !strings.Contains(head, "crio.network") {
			continue
		}
		for _, q := range quoted.FindAllStringSubmatch(text[at[2]:at[3]], -1) {
			if dir := q[1] + q[2]; path.IsAbs(dir) {
				dirs = append(dirs, path.Clean(dir))
			}
		}
	}
	return dirs
}

// tomlFiles are the files of a directory of drop-ins, in the order of their names.
func tomlFiles(v View, p *Process, dir, suffix string) (files []string) {
	names, err := dropIns(v, p.root(), dir, suffix)
	if err != nil {
		return nil
	}
	return names
}

// argument is the value of a flag in a program's arguments; "" where it has none.
func argument(args []string, names ...string) string {
	for i, a := range args {
		for _, name := range names {
			if rest, ok := strings.CutPrefix(a, name+"="); ok {
				return rest
			}
			if a == name && i+1 < len(args) {
				return args[i+1]
			}
		}
	}
	return ""
}
