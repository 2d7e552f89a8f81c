package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// The part of the CDI specification that is used here. See https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md.
type (
	cdiSpec struct {
		Version string      `json:"cdiVersion"`
		Kind    string      `json:"kind"`
		Devices []cdiDevice `json:"devices"`
	}
	cdiDevice struct {
		Name  string   `json:"name"`
		Edits cdiEdits `json:"containerEdits"`
	}
	cdiEdits struct {
		Env         []string  `json:"env,omitempty"`
		DeviceNodes []cdiNode `json:"deviceNodes,omitempty"`
	}
	cdiNode struct {
		Path     string `json:"path"`
		HostPath string `json:"hostPath"`
	}
)

// edits give a container an environment variable and a device node, both named like the device.
func edits(prefix, device string) cdiEdits {
	name := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(device))
	return cdiEdits{Env: []string{prefix + name + "=" + device}, DeviceNodes: []cdiNode{{Path: "/dev/" + device, HostPath: "/dev/null"}}}
}

// writeCDI writes a specification in one step: the runtime reads what is there at any time.
func writeCDI(path, kind string, devices []cdiDevice) error {
	text, err := json.Marshal(cdiSpec{Version: "0.6.0", Kind: kind, Devices: devices})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}
