package discover

import (
	"path"
	"strings"
)

// flags are a kubelet's arguments by name; the last one of a name counts.
type flags map[string]string

// valued are the flags that matter here and have a value, which may be the next argument.
var valued = map[string]bool{
	"config": true, "config-dir": true, "root-dir": true, "cert-dir": true, "kubeconfig": true, "hostname-override": true,
	"container-runtime-endpoint": true, "image-service-endpoint": true, "port": true, "read-only-port": true, "healthz-port": true,
	"healthz-bind-address": true, "cgroup-driver": true, "cgroup-root": true, "pod-manifest-path": true, "v": true, "logging-format": true,
	"log-file": true, "feature-gates": true, "kubelet-args-file": true, "kubelet-arg": true, "data-dir": true, "d": true, "log": true, "l": true,
	"container-runtime": true, "tls-cert-file": true, "image-credential-provider-bin-dir": true,
}

// parseFlags reads arguments: --name=value, --name value, -v 4.
func parseFlags(args []string) flags {
	f := flags{}
	for i := 0; i < len(args); i++ {
		name, ok := strings.CutPrefix(args[i], "-")
		if !ok {
			continue
		}
		if name = strings.TrimPrefix(name, "-"); name == "" {
			break
		}
		name, value, has := strings.Cut(name, "=")
		if !has {
			if valued[name] && i+1 < len(args) {
				i++
				value = args[i]
			} else {
				value = "true"
			}
		}
		if name == "kubelet-arg" { // k3s: the kubelet's own flags, one each
			k, val, _ := strings.Cut(value, "=")
			f[strings.TrimLeft(k, "-")] = val
			continue
		}
		f[name] = value
	}
	return f
}

// argsFile reads microk8s's file of arguments: one flag a line, with variables of the snap.
func argsFile(text string, env map[string]string) (args []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		for _, name := range []string{"SNAP", "SNAP_DATA", "SNAP_COMMON"} {
			line = strings.ReplaceAll(line, "${"+name+"}", env[name])
		}
		name, value, both := strings.Cut(line, " ")
		if both && !strings.Contains(name, "=") {
			line = name + "=" + strings.TrimSpace(value)
		}
		args = append(args, strings.NewReplacer(`"`, "", `'`, "").Replace(line))
	}
	return args
}

// flagsOf are the flags of the kubelet in a process, and which files they are from.
func flagsOf(v View, p *Process, kind Kind, env map[string]string) (f flags, files []string) {
	args := p.Args
	if len(args) == 1 { // a program that writes its title
		args = strings.Fields(args[0])
	}
	switch kind {
	case Kubelet:
		return parseFlags(args), nil
	case Kubelite:
		own := parseFlags(args)
		file := own["kubelet-args-file"]
		b, err := readWithin(v, p.root(), file)
		if file == "" || err != nil {
			return flags{}, nil
		}
		return parseFlags(argsFile(string(b), env)), []string{file}
	case K3s:
		own := parseFlags(args)
		data := own["data-dir"]
		if data == "" {
			data = own["d"]
		}
		if data == "" {
			data = "/var/lib/rancher/k3s"
		}
		f = flags{"container-runtime-endpoint": "unix:///run/k3s/containerd/containerd.sock", "data-dir": data}
		if dropIns := path.Join(data, "agent/etc/kubelet.conf.d"); exists(v, p.root(), dropIns) {
			f["config-dir"] = dropIns
		}
		for k, val := range own {
			switch k {
			case "container-runtime-endpoint", "v", "log", "l":
			case "data-dir", "d", "config", "port", "log-file", "kubeconfig", "node-name":
				continue // k3s's own, with another meaning
			}
			f[k] = val
		}
		if l := own["log"]; l != "" {
			f["log-file"] = l
		}
		return f, nil
	}
	return flags{}, nil
}

func exists(v View, root, name string) bool {
	full, err := within(v, root, name)
	if err != nil {
		return false
	}
	_, err = v.Lstat(full)
	return err == nil
}
