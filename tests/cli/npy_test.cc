// .npy files, written byte by byte.
#include "cli/npy.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>

namespace skipattn::cli {
namespace {

std::string Header(const std::string& dict, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  bytes += static_cast<char>(dict.size() & 0xff);
  bytes += static_cast<char>(dict.size() >> 8);
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + dict;
}

std::string Dict(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': (" + shape + "), }   \n";
}

Result<NpyArray> Read(const std::string& bytes, DType dtype = DType::kBool) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = ::testing::TempDir() + "skipattn_npy_" + test->name() + ".npy";
  std::ofstream(path, std::ios::binary) << bytes;
  Result<NpyArray> array = ReadNpy("dense", path, dtype);
  std::remove(path.c_str());
  return array;
}

TEST(NpyTest, ReadsBothOrdersAndVersions) {
  const std::string elements("\1\0\1\0\0\1", 6);
  for (const char version : {1, 2, 3}) {
    for (const bool fortran : {false, true}) {
      const auto array = Read(Header(Dict("|b1", "2, 3", fortran), version) + elements);
      ASSERT_TRUE(array.ok()) << array.status().message();
      EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3}));
      EXPECT_EQ(array->bytes, (std::vector<uint8_t>{1, 0, 1, 0, 0, 1}));
      const ConstTensor view = array->View();
      EXPECT_EQ(view.rank, 2);
      EXPECT_EQ(view.stride[0], fortran ? 1 : 3);
      EXPECT_EQ(view.stride[1], fortran ? 2 : 1);
    }
  }
  EXPECT_EQ(Read(Header(Dict("|b1", "4,")) + elements)->shape, (std::vector<int64_t>{4}));
  EXPECT_EQ(Read(Header(Dict("|b1", "0, 9")))->shape, (std::vector<int64_t>{0, 9}));
}

TEST(NpyTest, ReadsFloats) {
  const float numbers[3] = {1.5f, -2.0f, 0.25f};
  const std::string bytes(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  const auto array = Read(Header(Dict("<f4", "3,")) + bytes, DType::kF32);
  ASSERT_TRUE(array.ok()) << array.status().message();
  const ConstTensor view = array->View();
  EXPECT_EQ(view.dtype, DType::kF32);
  EXPECT_EQ(std::memcmp(view.data, numbers, sizeof(numbers)), 0);
  const auto expect = [](const Result<NpyArray>& wrong, const std::string& word) {
    ASSERT_FALSE(wrong.ok()) << word;
    EXPECT_NE(wrong.status().message().find(word), std::string::npos) << wrong.status().message();
  };
  expect(Read(Header(Dict("<f8", "1,")) + "12345678", DType::kF32), "astype('float32')");
  expect(Read(Header(Dict("<f4", "2,")) + "1234567", DType::kF32), "cut off");
}

TEST(NpyTest, ErrorsSayWhatIsWrong) {
  const auto expect = [](const std::string& bytes, const std::string& word) {
    const auto array = Read(bytes);
    ASSERT_FALSE(array.ok()) << word;
    EXPECT_NE(array.status().message().find(word), std::string::npos) << array.status().message();
  };
  expect("", "no .npy file");
  expect("PK\3\4 a zip file of many bytes", "no .npy file");
  expect(Header(Dict("|b1", "1,")).substr(0, 30), "no .npy file");
  expect(Header("{}"), "header");
  expect(Header(Dict("<i8", "1,")) + "12345678", "astype(bool)");
  expect(Header(Dict("|b1", "")) + "1", "one to four axes");
  expect(Header(Dict("|b1", "1, 1, 1, 1, 1")) + "1", "one to four axes");
  expect(Header(Dict("|b1", "3, 3")) + "12345678", "cut off");
  expect(Header(Dict("|b1", "4294967296, 4294967296")) + "1", "cut off");
  EXPECT_NE(ReadNpy("dense", "/no/such.npy", DType::kBool).status().message().find("/no/such.npy"),
            std::string::npos);
}

}  // namespace
}  // namespace skipattn::cli
