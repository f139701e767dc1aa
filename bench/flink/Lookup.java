package bench;

import java.util.HashMap;
import org.apache.flink.table.functions.ScalarFunction;

/** A static table of two columns in memory, for joins on its first. */
public class Lookup extends ScalarFunction {
    private final HashMap table;

    public Lookup(long[] keys, long[] values) {
        this.table = new HashMap(2 * keys.length);
        for (int at = 0; at < keys.length; at++) this.table.put(Long.valueOf(keys[at]), Long.valueOf(values[at]));
    }

    public Long eval(Long key) { return (Long) this.table.get(key); }
}
