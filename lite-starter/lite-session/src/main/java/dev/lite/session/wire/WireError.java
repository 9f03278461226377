package dev.lite.session.wire;

import dev.lite.api.LiteException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;

/**
 * An error on a wire: the number of its {@link LiteException.Code}, and bytes.
 *
 * <pre>
 *   RPC_FAILED       any other code
 *     +0  status       int   the number of a {@link RpcStatus}
 *     +4  handler code int
 *     +8  message          +0  message      UTF-8
 * </pre>
 *
 * <p>Both words are little-endian.
 */
public final class WireError {
    /** Bytes before the message of {@link LiteException.Code#RPC_FAILED}. */
    public static final int PREFIX_BYTES = 2 * Integer.BYTES;

    private WireError() {}

    /** The bytes of an error; its message is cut so that all fits into {@code bytesMax} bytes. */
    public static byte[] bytes(LiteException error, int bytesMax) {
        String message = String.valueOf(error.getMessage());
        return error instanceof RpcFailedException failed
                ? bytes(failed.status(), failed.handlerCode(), message, bytesMax)
                : WireText.cut(message, bytesMax);
    }

    /** The bytes of an error with {@link LiteException.Code#RPC_FAILED}, at most {@code bytesMax}. */
    public static byte[] bytes(RpcStatus status, int handlerCode, String message, int bytesMax) {
        byte[] text = WireText.cut(message, bytesMax - PREFIX_BYTES);
        return ByteBuffer.allocate(PREFIX_BYTES + text.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(status.number())
                .putInt(handlerCode)
                .put(text)
                .array();
    }

    /**
     * The exception of an error that was received. Unknown numbers, from newer peers, become an {@link RpcFailedException} with {@link
     * RpcStatus#UNKNOWN}.
     *
     * @param code the number of a {@link LiteException.Code}
     * @param what words put before the message, unless that has each of them already; empty for nothing
     */
    public static LiteException exception(int code, byte[] bytes, String... what) {
        if (code != LiteException.Code.RPC_FAILED.number() || bytes.length < PREFIX_BYTES) {
            return LiteException.Code.exception(code, about(what, new String(bytes, StandardCharsets.UTF_8)));
        }
        ByteBuffer words = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        String message = new String(bytes, PREFIX_BYTES, bytes.length - PREFIX_BYTES, StandardCharsets.UTF_8);
        return rpcFailed(words.getInt(), words.getInt(), about(what, message));
    }

    private static String about(String[] what, String message) {
        return Stream.of(what).allMatch(message::contains) ? message : String.join(" ", what) + ": " + message;
    }

    private static RpcFailedException rpcFailed(int number, int handlerCode, String message) {
        RpcStatus status = RpcStatus.of(number);
        boolean unknown = status == RpcStatus.UNKNOWN && number != RpcStatus.UNKNOWN.number();
        return new RpcFailedException(
                status, handlerCode, unknown ? "unknown status %d: %s".formatted(number, message) : message, null);
    }

    /** The same error, with the stack of this thread and this message. */
    public static LiteException again(LiteException error, String message) {
        return error instanceof RpcFailedException failed
                ? new RpcFailedException(failed.status(), failed.handlerCode(), message, null)
                : error.code().exception(message);
    }
}
