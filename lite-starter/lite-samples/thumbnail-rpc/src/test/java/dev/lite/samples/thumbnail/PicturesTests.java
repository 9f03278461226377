package dev.lite.samples.thumbnail;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.awt.image.BufferedImage;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;

class PicturesTests {

    private static final int MIB = 1 << 20;

    private final BufferedImage photo = Pictures.photo(720, 540, new Random(7));

    @Test
    void aPhotoNeedsMoreThanOneMebibyteAndComesBackFromItsPng() {
        byte[] png = Pictures.encode(photo, "png");
        assertThat(png).hasSizeBetween(MIB, 2 * MIB);
        BufferedImage decoded = Pictures.decode(png);
        assertThat(decoded.getRGB(719, 0)).isEqualTo(photo.getRGB(719, 0));
    }

    @Test
    void aThumbnailKeepsProportionsAndColours() {
        BufferedImage thumbnail = Pictures.decode(Pictures.encode(Pictures.scale(photo, 160), "jpeg"));
        assertThat(thumbnail.getWidth()).isEqualTo(160);
        assertThat(thumbnail.getHeight()).isEqualTo(120);
        // Red grows from left to right, green from top to bottom.
        assertThat(red(thumbnail, 150, 60)).isGreaterThan(red(thumbnail, 10, 60) + 100);
        assertThat(green(thumbnail, 80, 110)).isGreaterThan(green(thumbnail, 80, 10) + 100);
    }

    @Test
    void bytesThatAreNoPictureAreRejected() {
        assertThatThrownBy(() -> Pictures.decode(new byte[1000])).hasMessageContaining("1,000 bytes are no picture");
    }

    /** A few bytes can say so; the decoder would allocate all pixels first. */
    @Test
    void aPictureWithTooManyPixelsIsRejectedBeforeItIsDecoded() {
        for (int side : new int[] {6_000, 30_000, Integer.MAX_VALUE}) {
            byte[] png = Pictures.encode(Pictures.photo(2, 2, new Random(7)), "png");
            declare(png, side, side);
            assertThatThrownBy(() -> Pictures.decode(png))
                    .hasMessage(
                            "the picture has %,d x %,d pixels; at most 33,554,432 are allowed".formatted(side, side));
        }
    }

    /** Replaces the size in the header of a PNG, and the header's checksum. */
    private static void declare(byte[] png, int width, int height) {
        ByteBuffer header = ByteBuffer.wrap(png).putInt(16, width).putInt(20, height);
        CRC32 checksum = new CRC32();
        checksum.update(png, 12, 17);
        header.putInt(29, (int) checksum.getValue());
    }

    private static int red(BufferedImage picture, int x, int y) {
        return picture.getRGB(x, y) >> 16 & 0xFF;
    }

    private static int green(BufferedImage picture, int x, int y) {
        return picture.getRGB(x, y) >> 8 & 0xFF;
    }
}
