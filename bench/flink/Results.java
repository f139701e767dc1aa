package bench;

import java.time.Instant;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/** What the jobs in this process counted and wrote, for the program that drives it. */
public class Results {
    private static final ConcurrentHashMap COUNTERS = new ConcurrentHashMap();
    private static final ConcurrentHashMap LINES = new ConcurrentHashMap();

    /** When row 0 is due, in microseconds; 0: it is not known yet. */
    public static volatile long begin;

    public static void beginAt(long micros) { begin = micros; }

    /** Subtasks of sources that wait to begin, or have begun. */
    public static int open() { return COUNTERS.size(); }

    public static Counter counter(int query, int subtask) {
        Counter made = new Counter();
        COUNTERS.put(query + "/" + subtask, made);
        return made;
    }

    public static long nowMicros() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1000000L + now.getNano() / 1000;
    }

    public static void write(int query, String line) {
        Integer key = Integer.valueOf(query);
        LINES.putIfAbsent(key, new ConcurrentLinkedQueue());
        ((ConcurrentLinkedQueue) LINES.get(key)).add(line);
    }

    public static String lines(int query) {
        StringBuilder all = new StringBuilder();
        Object lines = LINES.get(Integer.valueOf(query));
        if (lines == null) return "";
        for (Object line : (ConcurrentLinkedQueue) lines) all.append((String) line).append('\n');
        return all.toString();
    }

    public static void clear() {
        begin = 0L;
        COUNTERS.clear();
        LINES.clear();
        LatencyReporter.clear();
    }

    public static long emitted() {
        long sum = 0L;
        for (Object counter : COUNTERS.values()) sum += ((Counter) counter).emitted;
        return sum;
    }

    public static long lagMicros() {
        long most = 0L;
        for (Object counter : COUNTERS.values()) most = Math.max(most, ((Counter) counter).lagMicros);
        return most;
    }
}
