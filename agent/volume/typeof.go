package volume

import (
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// typeOf returns a volume's type as in a manifest.
func typeOf(v *v1.Volume) string {
	source := reflect.ValueOf(v.VolumeSource)
	for i := range source.NumField() {
		if f := source.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return "(none)"
}
