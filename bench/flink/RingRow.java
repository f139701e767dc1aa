package bench;

import org.apache.flink.table.data.ArrayData;
import org.apache.flink.table.data.DecimalData;
import org.apache.flink.table.data.MapData;
import org.apache.flink.table.data.RawValueData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.types.RowKind;
import org.apache.flink.types.variant.Variant;

/** A row of the ring: field 0 is the event time, the others are 64-bit integers, or doubles kept as their bits. */
public class RingRow implements RowData {
    private final long[][] ring;
    private final int rows;
    private int at;
    private long micros;
    private RowKind kind = RowKind.INSERT;

    public RingRow(long[][] ring) {
        this.ring = ring;
        this.rows = ring.length == 0 ? 1 : ring[0].length;
    }

    public void at(long number, long micros) {
        this.at = (int) (number % this.rows);
        this.micros = micros;
    }

    public int getArity() { return this.ring.length + 1; }
    public RowKind getRowKind() { return this.kind; }
    public void setRowKind(RowKind kind) { this.kind = kind; }
    public boolean isNullAt(int field) { return false; }
    public long getLong(int field) { return this.ring[field - 1][this.at]; }
    public double getDouble(int field) { return Double.longBitsToDouble(this.ring[field - 1][this.at]); }
    public TimestampData getTimestamp(int field, int precision) {
        return TimestampData.fromEpochMillis(this.micros / 1000L);
    }

    public boolean getBoolean(int field) { throw this.unknown(); }
    public byte getByte(int field) { throw this.unknown(); }
    public short getShort(int field) { throw this.unknown(); }
    public int getInt(int field) { throw this.unknown(); }
    public float getFloat(int field) { throw this.unknown(); }
    public StringData getString(int field) { throw this.unknown(); }
    public DecimalData getDecimal(int field, int precision, int scale) { throw this.unknown(); }
    public RawValueData getRawValue(int field) { throw this.unknown(); }
    public byte[] getBinary(int field) { throw this.unknown(); }
    public ArrayData getArray(int field) { throw this.unknown(); }
    public MapData getMap(int field) { throw this.unknown(); }
    public RowData getRow(int field, int fields) { throw this.unknown(); }
    public Variant getVariant(int field) { throw this.unknown(); }

    private RuntimeException unknown() {
        return new UnsupportedOperationException("a ring has timestamps, bigints and doubles alone");
    }
}
