package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// HealthName is the name of the file with the health of devices, in the kubelet's root directory. It has no checksum and no version.
//
// Upstream: pkg/kubelet/cm/dra/healthinfo.go, pkg/kubelet/cm/dra/state/state.go.
const HealthName = "dra_health_state"

// DeviceHealth is what a driver said of a device.
type DeviceHealth struct {
	PoolName   string
	DeviceName string
	Health     v1.ResourceHealthStatus
	// LastUpdated is when the driver said it, and HealthCheckTimeout how long that counts; 0 is the default of 30 s.
	LastUpdated        time.Time
	HealthCheckTimeout time.Duration
	Message            string
}

// driverHealth has the devices of a driver, by POOL/DEVICE.
type driverHealth struct{ Devices map[string]DeviceHealth }

// ReadHealth reads the health of devices, by driver; a file that does not exist has none. A file that cannot be decoded is an
// *UnreadableError, and one that is longer than 64 MiB an error; neither is changed. An entry whose key is not that of its device is left
// out: upstream would not find it.
func ReadHealth(path string) (map[string][]DeviceHealth, error) {
	text, err := wholefile.Read(path, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the health of devices: %w", err)
	}
	var all map[string]driverHealth
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, &UnreadableError{Path: path, Err: err}
	}
	out := map[string][]DeviceHealth{}
	for driver, has := range all {
		for key, d := range has.Devices {
			if key == d.PoolName+"/"+d.DeviceName {
				out[driver] = append(out[driver], d)
			}
		}
	}
	return out, nil
}

// WriteHealth replaces the file atomically. More than 64 MiB are an error.
func WriteHealth(path string, all map[string][]DeviceHealth) error {
	out := make(map[string]driverHealth, len(all))
	for driver, devices := range all {
		has := driverHealth{Devices: make(map[string]DeviceHealth, len(devices))}
		for _, d := range devices {
			has.Devices[d.PoolName+"/"+d.DeviceName] = d
		}
		out[driver] = has
	}
	text, err := json.Marshal(out)
	if err == nil && len(text) > maxSize {
		err = fmt.Errorf("%d bytes are more than the limit of %d", len(text), maxSize)
	}
	if err == nil {
		err = wholefile.Write(path, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the health of devices: %w", err)
	}
	return nil
}
