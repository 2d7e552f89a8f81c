package trace

import "time"

// timeForm has a 0 for each digit of timeLayout.
const timeForm = "0000-00-00T00:00:00.000000000Z"

// parseTime parses a time with exactly timeLayout's length, and returns Unix nanoseconds from 1970 to 2199. It is many
// times faster than time.Parse, which reports the errors: a time that parseTime rejects may be valid there.
func parseTime(p []byte) (int64, bool) {
	for i := range len(timeForm) {
		if digit := '0' <= p[i] && p[i] <= '9'; digit != (timeForm[i] == '0') || !digit && p[i] != timeForm[i] {
			return 0, false
		}
	}
	number := func(from, to int) (n int) {
		for _, c := range p[from:to] {
			n = 10*n + int(c-'0')
		}
		return n
	}
	year, month, day := number(0, 4), number(5, 7), number(8, 10)
	hour, minute, second := number(11, 13), number(14, 16), number(17, 19)
	if year < 1970 || year > 2199 || month < 1 || month > 12 || day < 1 || day > 28 && day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	seconds := ((daysUntil(year, month)+day-1)*24+hour)*3600 + minute*60 + second
	return int64(seconds)*int64(time.Second) + int64(number(20, 29)), true
}

func daysIn(year, month int) int { return daysUntil(year, month+1) - daysUntil(year, month) }

// daysUntil returns the number of days from 1970 until the first of a month, which may be the 13th. A year begins in
// March here, so that the leap day is its last.
func daysUntil(year, month int) int {
	if month > 2 {
		month -= 3
	} else {
		year, month = year-1, month+9
	}
	return 365*year + year/4 - year/100 + year/400 + (153*month+2)/5 - 719468
}
