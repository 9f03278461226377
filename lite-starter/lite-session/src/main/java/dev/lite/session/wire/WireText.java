package dev.lite.session.wire;

import dev.lite.api.LimitExceededException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/** Texts and lengths within the limits of a message. */
public final class WireText {
    private WireText() {}

    /** Encodes as much of the text in UTF-8 as fits into {@code bytesMax} bytes; no character is split. */
    public static byte[] cut(String text, int bytesMax) {
        CharsetEncoder encoder = StandardCharsets.UTF_8
                .newEncoder()
                .onMalformedInput(CodingErrorAction.REPLACE)
                .onUnmappableCharacter(CodingErrorAction.REPLACE);
        ByteBuffer out = ByteBuffer.allocate((int) Math.min(bytesMax, 3L * text.length()));
        CoderResult result = encoder.encode(CharBuffer.wrap(text), out, true);
        // Overflow is expected: the encoder stops after the last character that fits.
        assert !result.isError();
        out.flip();
        byte[] bytes = new byte[out.remaining()];
        out.get(bytes);
        return bytes;
    }

    /**
     * Checks the length of a request.
     *
     * @param what the request, for the message
     * @param contextBytes the length of its context; 0 if it has none
     * @throws LimitExceededException when it is longer than {@code bytesMax} with its context
     */
    public static void checkRequest(String what, long bytes, int contextBytes, long bytesMax) {
        if (bytes + contextBytes > bytesMax) {
            throw new LimitExceededException("%s has %d bytes%s; the limit is %d"
                    .formatted(
                            what,
                            bytes,
                            contextBytes == 0 ? "" : " and a context of %d".formatted(contextBytes),
                            bytesMax));
        }
    }
}
