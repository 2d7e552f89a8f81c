package discover

import (
	"path"
	"strings"
	"time"
)

// zoneOf is the time zone of a process that sees other files than this one, as a kubelet seen from a container; nil where it sees the same,
// or its zone cannot be read. As in Go's package time: TZ, else /etc/localtime, else UTC.
func zoneOf(v View, p *Process, env map[string]string) *time.Location {
	if p.Files == "" {
		return nil
	}
	file := "/etc/localtime"
	if tz, ok := env["TZ"]; ok {
		tz = strings.TrimPrefix(tz, ":")
		if tz == "" || tz == "UTC" {
			return time.UTC
		}
		if file = tz; !path.IsAbs(tz) {
			file = path.Join("/usr/share/zoneinfo", path.Join("/", tz))
		}
	}
	data, err := readWithin(v, p.root(), file)
	if err != nil {
		return time.UTC
	}
	zone, err := time.LoadLocationFromTZData("Local", data)
	if err != nil {
		return time.UTC
	}
	return zone
}
