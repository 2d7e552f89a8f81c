package say

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// IDs lists IDs with ranges of their last numbers, such as gpu-[0-3,7]. all is how many there are, if the list is only the first of them.
func IDs(ids []string, all int) string {
	of := map[string][]int{}
	var names []string
	for _, id := range ids {
		name, n := numbered(id)
		if of[name] == nil {
			names = append(names, name)
		}
		of[name] = append(of[name], n)
	}
	slices.Sort(names)
	out := make([]string, 0, len(names))
	for _, name := range names {
		out = append(out, ranges(name, of[name]))
	}
	if more := all - len(ids); more > 0 {
		if len(out) == 0 {
			return fmt.Sprintf("%d", more)
		}
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, " ")
}

// maxDigits is less than the digits of the largest number.
const maxDigits = 9

// numbered splits an ID into its name and the number at its end, without leading zeros; -1 is none.
func numbered(id string) (name string, n int) {
	name = strings.TrimRight(id, "0123456789")
	digits := id[len(name):]
	if zeros := len(digits) - len(strings.TrimLeft(digits, "0")); zeros > 0 && len(digits) > 1 {
		zeros = min(zeros, len(digits)-1)
		name, digits = id[:len(name)+zeros], digits[zeros:]
	}
	if digits == "" || len(digits) > maxDigits {
		return id, -1
	}
	n, _ = strconv.Atoi(digits) // these are digits
	return name, n
}

// ranges writes a name with its numbers.
func ranges(name string, numbers []int) string {
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	if numbers[0] < 0 {
		return name
	}
	var parts []string
	for i := 0; i < len(numbers); i++ {
		first := i
		for i+1 < len(numbers) && numbers[i+1] == numbers[i]+1 {
			i++
		}
		part := strconv.Itoa(numbers[first])
		if i > first {
			part += "-" + strconv.Itoa(numbers[i])
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, ",")
	if name == "" || len(numbers) == 1 {
		return name + text
	}
	return name + "[" + text + "]"
}
